"""What the first client was promised and what came of it, kept outside the system that is attacked."""

import math
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Promise:
    """One execution that was acknowledged: when it was to start, and when its client was told so."""

    due: float
    acknowledged: float
    took: float

    @property
    def owed(self) -> float:
        """From when on it is late."""
        return max(self.due, self.acknowledged)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call of a handler: the nominal instant and the moment, in seconds since 1970."""

    kind: str
    scheduled_for: float
    at: float


class Ledger:
    """The file into which the handlers write what arrives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self._read_to = 0
        self.arrivals: dict[str, list[Arrival]] = {}
        self.ticks: Counter[float] = Counter()

    def read(self) -> None:
        """Takes what has come in since the last look."""
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            found = file.read()
        whole = found[: found.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.decode().splitlines():
            kind, id, scheduled_for, at = line.split()
            arrival = Arrival(kind, float(scheduled_for), float(at))
            self.arrivals.setdefault(id, []).append(arrival)
            if kind == "tick":
                self.ticks[arrival.scheduled_for] += 1


@dataclass(slots=True)
class Account:
    """All promises, and the refusals that the first client got."""

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
        """What was due between two moments."""
        with self.lock:
            return {id: promise for id, promise in self.promises.items() if start <= promise.due < end}

    def missing(self, ids: dict[str, Promise]) -> list[str]:
        """Those of them that have not arrived."""
        self.ledger.read()
        return [id for id in ids if id not in self.ledger.arrivals]

    def twice(self) -> list[str]:
        """What has arrived more than once, ever."""
        self.ledger.read()
        found = [id for id, arrivals in self.ledger.arrivals.items() if len(arrivals) > 1]
        return found + [f"the job's run of {instant}" for instant, times in self.ledger.ticks.items() if times > 1]

    def lateness(self, ids: dict[str, Promise], *, now: float) -> list[float]:
        """How late each of them came, in order; what has not come by now is as late as it can be."""
        arrivals = self.ledger.arrivals
        return sorted((arrivals[id][0].at if id in arrivals else now) - promise.owed for id, promise in ids.items())

    def tick_lateness(self, start: float, end: float, *, now: float) -> list[float]:
        """The same for the runs of the job, one a second, that were due between two moments."""
        with_a_run = [a for list in self.ledger.arrivals.values() for a in list if a.kind == "tick"]
        if not with_a_run:
            return []
        phase = with_a_run[-1].scheduled_for % 1
        came = {round(a.scheduled_for): a.at - a.scheduled_for for a in with_a_run}
        wanted = [second + phase for second in range(math.ceil(start - phase), math.ceil(end - phase))]
        return sorted(came.get(round(instant), now - instant) for instant in wanted)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0.0
