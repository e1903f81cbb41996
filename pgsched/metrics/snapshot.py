"""What was counted, at one moment, in a form that processes can pass on and that adds up."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from pgsched.domain.histogram import BUCKETS, nothing

Labels = tuple[str, ...]


class Histogram(msgspec.Struct):
    """How many observations fell up to each bound, the last beyond all, and what they come to together."""

    counts: list[int] = msgspec.field(default_factory=nothing)
    total: float = 0.0

    def observe(self, seconds: float, times: int = 1) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += times
        self.total += times * seconds

    def add(self, other: "Histogram") -> None:
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


class Value(msgspec.Struct):
    """The value of a counter or gauge."""

    name: str
    labels: Labels
    value: float


class Distribution(msgspec.Struct):
    """The value of a histogram."""

    name: str
    labels: Labels
    value: Histogram


class Snapshot(msgspec.Struct):
    """Everything that one process has counted. ``gauges`` are of now, and gone with the process."""

    counters: list[Value] = []
    histograms: list[Distribution] = []
    gauges: list[Value] = []


class Sum:
    """Snapshots of several processes, added up."""

    def __init__(self) -> None:
        self._values: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        self._histograms: defaultdict[str, dict[Labels, Histogram]] = defaultdict(dict)

    def add(self, found: Snapshot, *, is_alive: bool = True) -> None:
        """Adds a snapshot; of a process that has ended, without its gauges."""
        self.add_values(found.counters)
        self.add_values(found.gauges if is_alive else ())
        for one in found.histograms:
            self._histograms[one.name].setdefault(one.labels, Histogram()).add(one.value)

    def add_values(self, values: Iterable[Value]) -> None:
        for one in values:
            known = self._values[one.name]
            known[one.labels] = known.get(one.labels, 0.0) + one.value

    def add_all(self, other: "Sum") -> None:
        """Adds what is in another one."""
        self.add(
            Snapshot(histograms=[Distribution(n, k, v) for n, of in other._histograms.items() for k, v in of.items()])
        )
        self.add_values(Value(n, k, v) for n, of in other._values.items() for k, v in of.items())

    def values_of(self, name: str) -> Iterable[tuple[Labels, float]]:
        """The values of a counter or gauge, by their labels."""
        return self._values.get(name, {}).items()

    def histograms_of(self, name: str) -> Iterable[tuple[Labels, Histogram]]:
        """Those of a histogram."""
        return self._histograms.get(name, {}).items()
