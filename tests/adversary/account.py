"""Executions promised to the first client and their arrivals, recorded outside the attacked system."""

import math
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ELSEWHERE = "elsewhere"
"""Stands for the process of an arrival that is not a handler call."""
SETTLED_AFTER = 1.3
"""Seconds after which `is_served` looks only at executions scheduled since."""
_RECORDED_AFTER = 1.0
"""Seconds within which a finished call is recorded, on a machine with two cores."""


@dataclass(frozen=True, slots=True)
class Promise:
    """An acknowledged execution: when it is due, when it was acknowledged, and how long that took."""

    due: float
    acknowledged: float
    took: float

    @property
    def owed(self) -> float:
        """When it starts to be late."""
        return max(self.due, self.acknowledged)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A handler call: its scheduled and actual time in seconds since 1970, and its process."""

    kind: str
    scheduled_for: float
    at: float
    process: str


class Ledger:
    """The file in which handlers record arrivals."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self._read_to = 0
        self.arrivals: dict[str, list[Arrival]] = {}
        self.ticks: dict[float, set[str]] = {}
        self.ends: dict[str, float] = {}
        """When a handler ended its process, by pid."""

    def read(self) -> None:
        """Reads the lines added since the last read."""
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            found = file.read()
        whole = found[: found.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.decode().splitlines():
            kind, id, scheduled_for, at, process = line.split()
            if kind == "end":
                self.ends[process] = float(at)
                continue
            arrival = Arrival(kind, float(scheduled_for), float(at), process)
            self.arrivals.setdefault(id, []).append(arrival)
            if kind == "tick":
                self.ticks.setdefault(arrival.scheduled_for, set()).add(id)

    def is_unrecorded(self, arrival: Arrival) -> bool:
        """Whether the process ended before the call could be recorded, so that it is delivered again. For arrivals
        elsewhere, any ended process counts, since theirs is unknown."""
        ends = self.ends.values() if arrival.process == ELSEWHERE else [self.ends.get(arrival.process, -1.0)]
        return any(abs(end - arrival.at) < _RECORDED_AFTER for end in ends)


@dataclass(slots=True)
class Account:
    """All promises to the first client, and the refusals it got."""

    ledger: Ledger
    promises: dict[str, Promise] = field(default_factory=dict)
    refusals: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def promised(self, id: str, promise: Promise) -> None:
        with self.lock:
            self.promises[id] = promise

    def refused(self, at: float, reason: str) -> None:
        with self.lock:
            self.refusals.append((at, reason))

    def within(self, start: float, end: float) -> dict[str, Promise]:
        """Returns the promises that were due between two moments."""
        with self.lock:
            return {id: promise for id, promise in self.promises.items() if start <= promise.due < end}

    def missing(self, ids: dict[str, Promise]) -> list[str]:
        """Returns the ids that have not arrived."""
        self.ledger.read()
        return [id for id in ids if id not in self.ledger.arrivals]

    def twice(self) -> list[str]:
        """Returns what arrived more than once, without calls whose process ended before recording them."""
        self.ledger.read()
        ledger = self.ledger
        found = [
            id
            for id, them in ledger.arrivals.items()
            if len(them) > 1 and not all(map(ledger.is_unrecorded, them[:-1]))
        ]
        return found + [f"the job's run of {instant}" for instant, runs in ledger.ticks.items() if len(runs) > 1]

    def is_served(self, since: float) -> bool:
        """Whether the client schedules again, also over REST, and everything it scheduled since has begun.

        This looks at the last second, so callers first wait ``SETTLED_AFTER`` after an attack."""
        now = time.time()
        lately = self.within(now - SETTLED_AFTER, now - 0.3)
        return len(lately) > 15 and not self.missing(self.within(since, now - 0.3))

    def lateness(self, ids: dict[str, Promise], *, now: float) -> list[float]:
        """Returns the sorted lateness of each promise. A missing arrival counts as arriving now."""
        arrivals = self.ledger.arrivals
        return sorted((arrivals[id][0].at if id in arrivals else now) - promise.owed for id, promise in ids.items())

    def tick_lateness(self, start: float, end: float, *, now: float) -> list[float]:
        """Returns the sorted lateness of the job's runs, one a second, that were due between two moments."""
        with_a_run = [a for list in self.ledger.arrivals.values() for a in list if a.kind == "tick"]
        if not with_a_run:
            return []
        phase = with_a_run[-1].scheduled_for % 1
        came = {round(a.scheduled_for): a.at - a.scheduled_for for a in with_a_run}
        wanted = [second + phase for second in range(math.ceil(start - phase), math.ceil(end - phase))]
        return sorted(came.get(round(instant), now - instant) for instant in wanted)


def percentile(values: list[float], share: float) -> float:
    """Returns the value that this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0
