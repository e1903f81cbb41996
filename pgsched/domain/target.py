"""Targets: what an execution calls, as one URI. The database has refused others (``interface/core/targets.sql``)."""

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from pgsched.errors import InvalidInput, InvalidTarget

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
    or topic, and for HTTP the canonical host without its port. ``port`` is the one that is written."""

    scheme: Scheme
    text: str
    name: str
    port: int | None = None

    @property
    def host(self) -> str | None:
        """The host of an HTTP target as limits and circuits name it; None for others."""
        if self.scheme not in _URL_SCHEMES:
            return None
        return self.name if self.port in _USUAL_PORTS else f"{self.name}:{self.port}"


@lru_cache(maxsize=4096)
def parse_target(text: str) -> Target:
    """The parts of a target. Raises InvalidTarget for what ``check_target`` of the database refuses, which says in more
    detail what to write instead."""
    prefix, _, rest = text.partition(":")
    scheme = prefix.lower()
    form = _FORMS.get(scheme) if scheme in _URL_SCHEMES or prefix == scheme else None
    found = form.fullmatch(rest) if form is not None and len(text) <= LONGEST else None
    if found is None:
        raise _cannot_be_called(text)
    if scheme not in _URL_SCHEMES:
        return Target(scheme=Scheme(scheme), text=text, name=rest)
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 1 <= port <= 65535:
        raise _cannot_be_called(text)
    return Target(scheme=Scheme(scheme), text=text, name=canonical_host(found["host"]), port=port)


def canonical_host(host: str) -> str:
    """The one form of a host's name: in lower case and without a dot at the end. An address has a single form too: any
    other way to write it would be another host to whoever compares names. Raises InvalidTarget."""
    host = host.lower().removesuffix(".")
    if host.startswith("["):
        meant = _only_form(host[1:-1])
        if meant != host:
            raise InvalidTarget(f"the host {_shown(host)} is written in another way than addresses are: write {meant}")
    elif _ENDS_IN_NUMBER.search(host) and _IPV4.fullmatch(host) is None:
        raise InvalidTarget(
            f"the host {_shown(host)} is no address: write four decimal numbers from 0 to 255, such as 192.0.2.7"
        )
    return host


def _only_form(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return "four decimal numbers, or an IPv6 address in brackets, such as [2001:db8::7]"
    if address.ipv4_mapped or (address in _IPV4_COMPATIBLE and int(address) > 0xFFFF):
        return str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return f"[{address.compressed}]"


def without_port(host: str) -> str:
    """The host alone of one that may be written with its port, as limits and circuits name it."""
    found = _WITH_PORT.fullmatch(host)
    return host if found is None else found["host"]


def host_alone(host: str) -> str:
    """A host by which executions are looked for: at all of its ports. Raises InvalidInput where it has one."""
    if (alone := without_port(host)) != host:
        raise InvalidInput(
            f"the host {_shown(host)} has a port: write {alone[:100]}, which finds targets at all of its ports"
        )
    return host


def _cannot_be_called(text: str) -> InvalidTarget:
    shown = "" if "@" in text else f" {_shown(text)}"  # it may have a password
    return InvalidTarget(
        f"the target{shown} cannot be called: write one of https://host/path without a user, python:name, "
        "sql:schema.function, notify:channel, queue: or kafka:topic"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:100] + "…")


_URL_SCHEMES = frozenset({Scheme.HTTP, Scheme.HTTPS})
_USUAL_PORTS = frozenset({None, 80, 443})
_URL = re.compile(
    r"//(?P<host>[A-Za-z0-9](?:(?:[A-Za-z0-9_-]|\.(?!\.))*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:[/?][!-\"$-~]*)?"
)
_WITH_PORT = re.compile(r"(?P<host>[^:]+|\[[^]]*\]):[0-9]{1,5}")
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")  # to a resolver such a name is an address
_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}")
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_FORMS: dict[str, re.Pattern[str]] = {
    Scheme.HTTP: _URL,
    Scheme.HTTPS: _URL,
    Scheme.PYTHON: re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,199}"),
    Scheme.SQL: re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*"),
    Scheme.NOTIFY: re.compile(r"(?!pgsched)[a-z_][a-z0-9_]{0,62}"),
    Scheme.QUEUE: re.compile(""),
    Scheme.KAFKA: re.compile(r"[A-Za-z0-9._-]{1,249}"),
}
