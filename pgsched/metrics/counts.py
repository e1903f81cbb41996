"""Counts that can be added up and passed between processes."""

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from pgsched.domain.histogram import BUCKETS, nothing

Labels = tuple[str, ...]


class Histogram(msgspec.Struct):
    """The number of observations in each bucket, and the sum of all observations. The last bucket is unbounded."""

    counts: list[int] = msgspec.field(default_factory=nothing)
    total: float = 0.0


class Counts(msgspec.Struct):
    """Counters, gauges and histograms, by metric name and labels."""

    values: dict[str, dict[Labels, float]] = {}
    histograms: dict[str, dict[Labels, Histogram]] = {}

    def count(self, value: float, name: str, *labels: str) -> None:
        """Adds to a counter or gauge."""
        known = self.values.setdefault(name, {})
        known[labels] = known.get(labels, 0.0) + value

    def observe(self, seconds: float, name: str, *labels: str, times: int = 1) -> None:
        """Adds to a histogram."""
        histogram = self._histogram(name, labels)
        histogram.counts[bisect_left(BUCKETS, seconds)] += times
        histogram.total += times * seconds

    def add(self, other: "Counts", *, without: Iterable[str] = ()) -> None:
        """Adds the counts of another process, except those of the metrics in ``without``."""
        for name in other.values.keys() - set(without):
            for labels, value in other.values[name].items():
                self.count(value, name, *labels)
        for name, histograms in other.histograms.items():
            for labels, more in histograms.items():
                histogram = self._histogram(name, labels)
                histogram.counts = [sum(both) for both in zip(histogram.counts, more.counts, strict=True)]
                histogram.total += more.total

    def _histogram(self, name: str, labels: Labels) -> Histogram:
        known = self.histograms.setdefault(name, {})
        if labels not in known:
            known[labels] = Histogram()
        return known[labels]
