"""A histogram of rounded durations, with bounded memory use. Each duration is recorded to within 1%."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Self

_EXACT_BITS = 8  # durations up to 256 are exact; the bins of longer ones are 1/256 to 1/128 wide


class DurationHistogram:
    """A histogram of durations in microseconds. The shortest and the longest duration are exact, even if negative."""

    __slots__ = ("_counts", "count", "highest", "lowest")

    def __init__(self) -> None:
        self._counts = Counter[int]()
        self.count = 0
        self.lowest, self.highest = math.inf, -math.inf

    @classmethod
    def merged(cls, parts: Iterable["DurationHistogram"]) -> Self:
        """Returns a histogram with the counts of all parts."""
        whole = cls()
        for part in parts:
            whole.merge(part)
        return whole

    def add(self, microseconds: int) -> None:
        """Counts one duration."""
        if microseconds > self.highest:
            self.highest = microseconds
        if microseconds < self.lowest:
            self.lowest = microseconds
        self.count += 1
        self._counts[_rounded(microseconds)] += 1

    def merge(self, other: "DurationHistogram") -> None:
        """Adds the counts of another histogram."""
        self._counts.update(other._counts)
        self.count += other.count
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)

    def percentile_ms(self, percent: float) -> float | None:
        """Returns this percentile in milliseconds, or None if nothing was counted."""
        if not self.count:
            return None
        wanted = max(math.ceil(self.count * percent / 100), 1)
        for duration in sorted(self._counts):
            wanted -= self._counts[duration]
            if wanted <= 0:
                return min(max(duration, self.lowest), self.highest) / 1000
        raise AssertionError("fewer durations are stored than were counted")

    def summary(self) -> dict[str, float | None]:
        """Returns the percentiles that benchmarks report, in milliseconds."""
        told = {
            "p50_ms": self.percentile_ms(50),
            "p90_ms": self.percentile_ms(90),
            "p99_ms": self.percentile_ms(99),
            "p999_ms": self.percentile_ms(99.9),
            "max_ms": self.highest / 1000 if self.count else None,
            "min_ms": self.lowest / 1000 if self.count else None,
        }
        return {name: None if value is None else round(value, 3) for name, value in told.items()}


class ByMinute:
    """One histogram per minute, so that an hour's figures do not hide a bad minute."""

    __slots__ = ("minutes",)

    def __init__(self) -> None:
        self.minutes: dict[int, DurationHistogram] = {}

    def add(self, microseconds: int, now: float) -> None:
        """Counts one duration. ``now`` is the time in seconds, on a clock that all processes share."""
        minute = int(now // 60)
        histogram = self.minutes.get(minute)
        if histogram is None:
            histogram = self.minutes[minute] = DurationHistogram()
        histogram.add(microseconds)

    def merge(self, other: "ByMinute") -> None:
        """Adds another process's counts, minute by minute."""
        for minute, histogram in other.minutes.items():
            self.minutes.setdefault(minute, DurationHistogram()).merge(histogram)

    def whole(self) -> DurationHistogram:
        """Returns one histogram of all minutes."""
        return DurationHistogram.merged(self.minutes.values())

    def worst_ms(self, percent: float) -> float | None:
        """Returns this percentile in the worst minute, in milliseconds. Minutes with few counts are ignored."""
        full = max((one.count for one in self.minutes.values()), default=0) / 10
        found = (one.percentile_ms(percent) for one in self.minutes.values() if one.count >= full)
        return max((value for value in found if value is not None), default=None)


def _rounded(microseconds: int) -> int:
    """Rounds to the middle of the bin, which holds all durations with the same leading bits."""
    value = max(microseconds, 0)
    shift = max(value.bit_length() - _EXACT_BITS, 0)
    return (value >> shift << shift) + (1 << shift >> 1)
