"""Gates hold executions back, and say when the next one may pass.

Limits of a client, a target host, a queue or a client's own key, and circuits of failing targets, are all gates. A gate
lets a number of events per period pass, evenly, by the generic cell rate algorithm (ITU-T I.371): it stores one
instant, the theoretical arrival time of the next event, and so is exact however many workers draw on it.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, get_args

from pgsched.domain.target import parse_target
from pgsched.errors import InvalidTarget

LimitKind = Literal["client", "host", "queue", "key"]
LIMIT_KINDS: tuple[str, ...] = get_args(LimitKind)
CLIENT, HOST, QUEUE, KEY, CIRCUIT = "client:", "host:", "queue:", "key:", "circuit:"
ORDER = "order"
"""The gate of executions that wait for an earlier one with the same ordering key; it has no row in the table."""
NEVER = 2**63 - 1
_AUTHORITY = re.compile(r"^[^/?]*//[^/?]*")
_LONGEST_PATH = 200
_FIRST_INTERVAL = 100_000.0  # microseconds between the first executions of a gate without a rate: ten a second
_DOUBLES_IN = 1_000_000.0  # microseconds for the rate to double
_MOST_DOUBLED = 20
_PROBE_TAKES = 5_000_000  # microseconds until another probe is sent if the last one has not ended
RECOVERED = 14.0
"""Seconds until a recovering gate lets ten thousand times as many pass, and counts as recovered."""


@dataclass(slots=True, kw_only=True)
class Gate:
    """A gate as it was in the database when it was locked, and what has been drawn on it since.

    Instants are microseconds since 2000-01-01 UTC. ``interval`` is the microseconds between events, None if their rate
    is unlimited; ``running`` counts the running executions of the whole fleet, of at most ``concurrency``. Nothing
    passes before ``shut_until``. After that, a circuit lets a probe pass, and from ``recovers_from`` on a rising
    number.
    """

    name: str
    interval: float | None = None
    burst: int = 1
    concurrency: int | None = None
    next_at: float = 0.0
    shut_until: int | None = None
    recovers_from: int | None = None
    running: int = 0
    drawn: int = 0

    def earliest(self, now: int) -> int:
        """Returns when the next execution may start: now, at a later instant, or NEVER if that depends on others."""
        if self.shut_until is not None and now < self.shut_until:
            if self.is_probing:
                return self.shut_until
            now = self.shut_until  # from then on one after the other
        if self.concurrency is not None and self.running >= self.concurrency:
            return NEVER
        interval = self.interval_at(now)
        return now if interval is None else max(now, ceil(self.next_at - (self.burst - 1) * interval))

    def draw(self, start: int) -> None:
        """Lets one execution pass that starts at this instant, which is not before ``earliest``."""
        self.drawn += 1
        self.running += 1
        if self.is_probing:
            self.shut_until = start + _PROBE_TAKES
            return
        interval = self.interval_at(start)
        if interval is not None:
            self.next_at = max(start, self.next_at) + interval

    def room(self, wanted: int, *, now: int, last: int) -> int:
        """Returns how many of ``wanted`` executions could start from now to ``last``, inclusive."""
        if self.earliest(now) > last:
            return 0
        if self.is_probing:
            return min(wanted, 1)
        if self.concurrency is not None:
            wanted = min(wanted, self.concurrency - self.running)
        now = max(now, self.shut_until or now)
        interval = self.interval_at(now)
        if interval is None:
            return wanted
        return min(wanted, int((last - max(now, self.next_at)) // interval) + self.burst)

    @property
    def is_circuit(self) -> bool:
        return self.name.startswith(CIRCUIT)

    @property
    def is_probing(self) -> bool:
        """Whether one execution at a time may pass as a probe."""
        return self.is_circuit and self.recovers_from is None

    def interval_at(self, instant: int) -> float | None:
        """Returns the microseconds between events at an instant, or None if their rate is unlimited."""
        if self.recovers_from is None:
            return None if self.is_circuit else self.interval
        doubled = min(max((instant - self.recovers_from) / _DOUBLES_IN, 0.0), _MOST_DOUBLED)
        first = self.interval if self.is_circuit and self.interval else _FIRST_INTERVAL
        recovering = first / 2**doubled
        return recovering if self.is_circuit or self.interval is None else max(recovering, self.interval)


@lru_cache(maxsize=4096)
def host_of(target: str) -> str | None:
    """Returns the canonical host of a target URL, with its port unless that is 80 or 443; None for other targets."""
    try:
        return parse_target(target).host
    except InvalidTarget:
        return None


def path_of(target: str) -> str:
    """Returns the path of a target URL as circuits name it: without the query, and with a digest in place of its end if
    it is long.
    """
    path = _AUTHORITY.sub("", target, count=1).partition("?")[0] or "/"
    if len(path) <= _LONGEST_PATH:
        return path
    return f"{path[: _LONGEST_PATH - 17]}~{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def is_part_of(name: str, other: str) -> bool:
    """Whether every execution that passes this gate also passes the other one. A key's limit is part of its client's, a
    circuit part of its host's and its client's, and a path's circuit part of the circuit of all paths.
    """
    if name.startswith(KEY):
        return other.startswith(CLIENT) and name.startswith(key_name(other.removeprefix(CLIENT), ""))
    if not name.startswith(CIRCUIT):
        return False
    called, _, client = name.removeprefix(CIRCUIT).partition(" ")
    host, slash, _ = called.partition("/")
    if other.startswith(HOST):
        return host == other.removeprefix(HOST)
    if other.startswith(CIRCUIT):
        return bool(slash) and other == circuit_name(host, client)
    return other.startswith(CLIENT) and client == other.removeprefix(CLIENT)


def circuit_name(host: str, client: str, path: str = "") -> str:
    """Returns the name of the circuit between a client and a host, or one of its paths."""
    return f"{CIRCUIT}{host}{path} {client}"


@lru_cache(maxsize=4096)
def circuits_of(target: str, host: str, client: str) -> tuple[str, str]:
    """Returns the circuits that an execution passes: that of its path, and that of all paths of its host."""
    return circuit_name(host, client, path_of(target)), circuit_name(host, client)


def key_name(client: str, key: str) -> str:
    """Returns the name of the gate of a client's own limit key. A slash in the client's name is written as ``%2F``, and
    a percent sign as ``%25``, so that no two have the same gate.
    """
    return f"{KEY}{client.replace('%', '%25').replace('/', '%2F')}/{key}"
