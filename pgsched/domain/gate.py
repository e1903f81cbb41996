"""Gates hold executions back, and determine when the next one may pass.

The limits of clients, target hosts, queues and clients' own keys are gates, and so are the circuits of failing targets.
A gate lets a number of evenly spaced events pass per period, according to the generic cell rate algorithm (ITU-T
I.371). The state of the algorithm is a single instant, the theoretical arrival time of the next event, so a gate is
exact however many workers share it.
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
"""The gate of executions that wait for an earlier execution with the same ordering key. Has no row in the table of
gates."""
NEVER = 2**63 - 1
_AUTHORITY = re.compile(r"^[^/?]*//[^/?]*")
_LONGEST_PATH = 200
_FIRST_INTERVAL = 100_000.0  # microseconds between executions when a gate without a rate begins to recover
_DOUBLES_IN = 1_000_000.0  # microseconds in which the rate of a recovering gate doubles
_MOST_DOUBLED = 20
_PROBE_TAKES = 5_000_000  # microseconds after which the next probe is sent even if the last one has not ended
RECOVERED = 14.0
"""Seconds after which a gate counts as recovered: its rate is then over ten thousand times the initial rate."""


@dataclass(slots=True, kw_only=True)
class Gate:
    """A gate: its state in the database when it was locked, updated with what has since passed.

    Instants are microseconds since 2000-01-01 UTC. ``interval`` is the time between events in microseconds, or None if
    their rate is unlimited. ``running`` counts the running executions of the whole fleet; ``concurrency`` is its
    maximum. Nothing passes before ``shut_until``. After that instant, a circuit lets single probes pass. After
    ``recovers_from``, it lets executions pass at a rising rate.
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
        """Returns the earliest instant, not before ``now``, at which the next execution may start. Returns NEVER if
        other executions must end first."""
        if self.shut_until is not None and now < self.shut_until:
            if self.is_probing:
                return self.shut_until
            now = self.shut_until  # from then on, the gate's interval applies
        if self.concurrency is not None and self.running >= self.concurrency:
            return NEVER
        interval = self.interval_at(now)
        return now if interval is None else max(now, ceil(self.next_at - (self.burst - 1) * interval))

    def draw(self, start: int) -> None:
        """Lets one execution pass, to start at ``start``, which must not be before ``earliest``."""
        self.drawn += 1
        self.running += 1
        if self.is_probing:
            self.shut_until = start + _PROBE_TAKES
            return
        interval = self.interval_at(start)
        if interval is not None:
            self.next_at = max(start, self.next_at) + interval

    def room(self, wanted: int, *, now: int, last: int) -> int:
        """Returns how many of ``wanted`` executions could start between ``now`` and ``last``, inclusive."""
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
        """Whether executions may pass only one at a time, as probes."""
        return self.is_circuit and self.recovers_from is None

    def interval_at(self, instant: int) -> float | None:
        """Returns the time between events at an instant, in microseconds, or None if their rate is unlimited."""
        if self.recovers_from is None:
            return None if self.is_circuit else self.interval
        doubled = min(max((instant - self.recovers_from) / _DOUBLES_IN, 0.0), _MOST_DOUBLED)
        first = self.interval if self.is_circuit and self.interval else _FIRST_INTERVAL
        recovering = first / 2**doubled
        return recovering if self.is_circuit or self.interval is None else max(recovering, self.interval)


@lru_cache(maxsize=4096)
def host_of(target: str) -> str | None:
    """Returns the canonical host of a target URL, with the port unless it is 80 or 443, or None for other targets."""
    try:
        return parse_target(target).host
    except InvalidTarget:
        return None


def path_of(target: str) -> str:
    """Returns the path of a target URL as circuits name it: without the query and, if the path is long, with a digest
    in place of its end.
    """
    path = _AUTHORITY.sub("", target, count=1).partition("?")[0] or "/"
    if len(path) <= _LONGEST_PATH:
        return path
    return f"{path[: _LONGEST_PATH - 17]}~{hashlib.sha256(path.encode()).hexdigest()[:16]}"


def is_part_of(name: str, other: str) -> bool:
    """Whether every execution that passes the gate ``name`` also passes the gate ``other``. The limit of a client's key
    is part of the client's limit. A circuit is part of the limits of its host and its client. The circuit of a path is
    part of the circuit of all paths."""
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
    """Returns the name of the circuit for a client's calls to a host, or to one path of the host."""
    return f"{CIRCUIT}{host}{path} {client}"


@lru_cache(maxsize=4096)
def circuits_of(target: str, host: str, client: str) -> tuple[str, str]:
    """Returns the names of the two circuits that an execution passes: one for its path, and one for all paths of its
    host."""
    return circuit_name(host, client, path_of(target)), circuit_name(host, client)


def key_name(client: str, key: str) -> str:
    """Returns the name of the gate of a client's own limit key. In the client's name, slashes and percent signs are
    percent-encoded, so that no two keys share a gate.
    """
    return f"{KEY}{client.replace('%', '%25').replace('/', '%2F')}/{key}"
