"""The parts of HTTP targets."""

import ipaddress
import ssl
from functools import lru_cache
from typing import NamedTuple

from pgsched.delivery.channel import FinalFailure
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import InvalidTarget


class Origin(NamedTuple):
    """The end point of a connection. ``host`` is a name or an address without brackets. With a ``context`` its
    connections are those of a client that shows a certificate."""

    tls: bool
    host: str
    port: int
    context: ssl.SSLContext | None = None


class Url(NamedTuple):
    """The origin to connect to, the value of the Host header, and the path."""

    origin: Origin
    authority: str
    path: str


@lru_cache(maxsize=16_384)
def parse_url(target: str) -> Url:
    """The parts of an http: or https: target, its path exactly as scheduled. Raises FinalFailure."""
    try:
        parsed = parse_target(target)
    except InvalidTarget as error:
        raise FinalFailure(str(error)) from None
    tls = parsed.scheme is Scheme.HTTPS
    usual = 443 if tls else 80
    host = parsed.name.lower()
    _check_host(host)
    # Behind the scheme, "://" and the host come the port, if there is one, and then the path or the query.
    rest = target[len(parsed.scheme) + 3 + len(host) :]
    path = rest.lstrip(":0123456789")
    port = int(rest[1 : len(rest) - len(path)] or usual)
    name = host.removesuffix(".")
    return Url(
        origin=Origin(tls, host.strip("[]"), port),
        authority=name if port == usual else f"{name}:{port}",
        path=path if path.startswith("/") else "/" + path,
    )


def _check_host(host: str) -> None:
    """Raises FinalFailure for an invalid name, and for a text that only looks like an address: some resolvers accept
    these."""
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host[1:-1])
        elif host.replace(".", "").isdigit():
            ipaddress.IPv4Address(host)
    except ValueError:
        raise FinalFailure(f"{host} is no address: write four numbers from 0 to 255, or IPv6 in brackets") from None
    labels = host.removesuffix(".").split(".")
    if len(host) > 254 or (host[0] != "[" and not all(0 < len(label) < 64 for label in labels)):
        raise FinalFailure(f"{host[:300]} is no host name: between its dots stand 1 to 63 characters, 253 in all")
