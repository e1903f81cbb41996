"""Targets: what an execution calls, as one URI. The database refuses the same texts for the same reasons."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from pgsched.errors import InvalidTarget

LONGEST = 2048
"""Characters a target may have."""


class Scheme(StrEnum):
    """The kinds of targets; the part before the first colon."""

    HTTP = "http"
    HTTPS = "https"
    PYTHON = "python"
    SQL = "sql"
    NOTIFY = "notify"
    QUEUE = "queue"
    KAFKA = "kafka"


CHANNELS = ("http", "python", "sql", "notify", "kafka")
"""The ways in which workers deliver, as a client's settings name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A valid target. ``name`` is the part after the scheme: the handler, function, channel
    or topic, and for HTTP the host without its port."""

    scheme: Scheme
    text: str
    name: str


@lru_cache(maxsize=4096)
def parse_target(text: str) -> Target:
    """Parses a target. Raises InvalidTarget with what to write instead."""
    if not text:
        raise InvalidTarget("the target is missing: write one such as https://shop.example/settle")
    if len(text) > LONGEST:
        raise InvalidTarget(f"the target is longer than {LONGEST} characters: put the data into the payload")
    if re.search(r"\s", text):
        raise InvalidTarget(f"the target {_shown(text)} contains white space: percent-encode it, as in /a%20b")
    prefix, colon, rest = text.partition(":")
    scheme = prefix.lower()
    if not colon or scheme not in _SCHEMES:
        raise InvalidTarget(
            f"the target {_shown(text)} has no scheme that pgsched can call: write one of "
            "https://host/path, python:name, sql:schema.function, notify:channel, queue: or kafka:topic"
        )
    if scheme not in _URL_SCHEMES and prefix != scheme:
        raise InvalidTarget(f"the scheme of {_shown(text)} must be in lower case: write {scheme}:{rest[:100]}")
    return Target(scheme=Scheme(scheme), text=text, name=_PARSERS[Scheme(scheme)](text, rest))


def without_port(host: str) -> str:
    """The host alone of one that may be written with its port, as limits and circuits name it."""
    found = _WITH_PORT.fullmatch(host)
    return host if found is None else found["host"]


def _http(text: str, rest: str) -> str:
    authority = re.split(r"[/?#]", rest.removeprefix("//"), maxsplit=1)[0]
    if not rest.startswith("//") or not authority or authority.startswith(":"):
        raise InvalidTarget(f"the target {_shown(text)} names no host: write https://host[:port]/path")
    if "@" in authority:
        raise InvalidTarget(
            'the target carries a user or password: put credentials into options, {"headers": {"Authorization": "…"}}'
        )
    if "#" in text:
        raise InvalidTarget("the target has a fragment, which is never sent: leave out # and what follows it")
    found = _URL.fullmatch(rest)
    if found is None:
        raise InvalidTarget(
            f"the target {_shown(text)} is not a URL that can be called: write https://host[:port]/path, "
            "percent-encoded ASCII"
        )
    port = found["port"]
    if port is not None and not 1 <= int(port) <= 65535:
        raise InvalidTarget(
            f"the target's port {port} is not from 1 to 65535: write one such as https://host:8443/path"
        )
    return found["host"]


def _named(pattern: str, needs: str) -> Callable[[str, str], str]:
    compiled = re.compile(pattern, re.ASCII)

    def parse(text: str, rest: str) -> str:
        if compiled.fullmatch(rest) is None:
            raise InvalidTarget(f"the target {_shown(text)} is incomplete or malformed: {needs}")
        return rest

    return parse


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:100] + "…")


_SCHEMES = frozenset(Scheme)
_URL_SCHEMES = frozenset({Scheme.HTTP, Scheme.HTTPS})
_URL = re.compile(
    r"//(?P<host>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:[/?][!-~]*)?"
)
_WITH_PORT = re.compile(r"(?P<host>[^:]+|\[[^]]*\]):[0-9]{1,5}")
_PARSERS: dict[Scheme, Callable[[str, str], str]] = {
    Scheme.HTTP: _http,
    Scheme.HTTPS: _http,
    Scheme.PYTHON: _named(
        r"[A-Za-z_][A-Za-z0-9_.:-]{0,199}", "write python:send_email, the name given to @app.handler"
    ),
    Scheme.SQL: _named(
        r"[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*",
        "write a function with its schema, such as sql:billing.settle",
    ),
    Scheme.NOTIFY: _named(r"[A-Za-z_][A-Za-z0-9_]{0,62}", "write a channel, such as notify:orders"),
    Scheme.QUEUE: _named(r"", "write queue: alone, and name the queue beside it"),
    Scheme.KAFKA: _named(r"[A-Za-z0-9._-]{1,249}", "write a topic, such as kafka:orders"),
}
