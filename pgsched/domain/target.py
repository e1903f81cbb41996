"""Targets: what an execution calls, as a URI. The database refuses invalid targets (``interface/core/targets.sql``)."""

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from pgsched.errors import InvalidInput, InvalidTarget

LONGEST = 2048
"""Maximum length of a target, in characters."""


class Scheme(StrEnum):
    """The scheme of a target: the part before the first colon."""

    HTTP = "http"
    HTTPS = "https"
    PYTHON = "python"
    SQL = "sql"
    NOTIFY = "notify"
    QUEUE = "queue"
    KAFKA = "kafka"


CHANNELS = ("http", "python", "sql", "notify", "kafka")
"""The channels over which workers deliver, as named in clients' settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A valid target. ``name`` is the handler, function, channel or topic, or, for HTTP, the canonical host without its
    port. ``port`` is None if the target does not give one.
    """

    scheme: Scheme
    text: str
    name: str
    port: int | None = None

    @property
    def host(self) -> str | None:
        """The host of an HTTP target as limits and circuits name it; None for other targets."""
        if self.scheme not in _URL_SCHEMES:
            return None
        return self.name if self.port in _USUAL_PORTS else f"{self.name}:{self.port}"


@lru_cache(maxsize=4096)
def parse_target(text: str) -> Target:
    """Parses a target. Raises InvalidTarget if it is invalid. ``check_target`` in the database refuses the same
    targets, but gives more detailed advice.
    """
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
    """Returns the canonical form of a host: in lower case, without a trailing dot. Raises InvalidTarget for an IP
    address that is not in canonical form, because it would look like another host wherever names are compared.
    """
    host = host.lower().removesuffix(".")
    if host.startswith("["):
        meant = _only_form(host[1:-1])
        if meant != host:
            raise InvalidTarget(f"the host {_shown(host)} is not an address in canonical form: write {meant}")
    elif _ENDS_IN_NUMBER.search(host) and _IPV4.fullmatch(host) is None:
        raise InvalidTarget(
            f"the host {_shown(host)} is not a valid address: write four numbers from 0 to 255, such as 192.0.2.7"
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
    """Returns a host without its port, if any."""
    found = _WITH_PORT.fullmatch(host)
    return host if found is None else found["host"]


def host_alone(host: str) -> str:
    """Returns the host unchanged, for a search for executions at any port. Raises InvalidInput if the host has a
    port."""
    if (alone := without_port(host)) != host:
        raise InvalidInput(f"the host {_shown(host)} has a port: write {alone[:100]}, which finds targets on any port")
    return host


def _cannot_be_called(text: str) -> InvalidTarget:
    shown = "" if "@" in text else f" {_shown(text)}"  # a text with @ may contain a password
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
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")  # resolvers treat such a name as an address
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
