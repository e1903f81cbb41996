"""Parses HTTP targets into origin, authority and path."""

import re
import ssl
from functools import lru_cache
from typing import NamedTuple

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.domain.target import Scheme, parse_target
from pgsched.errors import InvalidTarget


class Origin(NamedTuple):
    """The endpoint of a connection. ``host`` is a name, or an address without brackets. ``context`` is given if
    connections present a client's certificate."""

    tls: bool
    host: str
    port: int
    context: ssl.SSLContext | None = None


class Url(NamedTuple):
    """A parsed target: the origin to connect to, the value of the Host header (``authority``), and the path."""

    origin: Origin
    authority: str
    path: str


@lru_cache(maxsize=16_384)
def parse_url(target: str) -> Url:
    """Parses an http: or https: target. Keeps the path exactly as scheduled. Raises FinalFailure if the target is
    invalid."""
    try:
        parsed = parse_target(target)
    except InvalidTarget as error:
        raise FinalFailure(str(error)) from None
    tls, host = parsed.scheme is Scheme.HTTPS, parsed.name
    _check_lengths(host)
    usual = 443 if tls else 80
    port = parsed.port or usual
    path = _PATH.search(target, len(parsed.scheme) + 3)
    return Url(
        origin=Origin(tls, host.strip("[]"), port),
        authority=host if port == usual else f"{host}:{port}",
        path="/" if path is None else path[0] if path[0].startswith("/") else "/" + path[0],
    )


def _check_lengths(host: str) -> None:
    labels = host.split(".")
    if len(host) > 253 or (host[0] != "[" and not all(0 < len(label) < 64 for label in labels)):
        raise FinalFailure(
            f"{host[:300]} is not a host name: write one with 1 to 63 characters between dots, 253 in total"
        )


_PATH = re.compile(r"[/?].*", re.DOTALL)
