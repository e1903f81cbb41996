"""Histograms of durations, in metrics and in rollups."""

from collections.abc import Sequence
from itertools import accumulate

BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 75.0,
    90.0, 120.0, 150.0, 180.0, 240.0, 300.0, 450.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0, 3600.0,
)  # fmt: skip
"""The buckets' upper bounds, in seconds. One more bucket is for larger values. From ten seconds on, each bound is at
most 1.5 times the previous one."""


def nothing() -> list[int]:
    """Returns an empty histogram."""
    return [0] * (len(BUCKETS) + 1)


def quantile(counts: Sequence[int], share: float) -> float | None:
    """Estimates the duration, in seconds, that this share of all durations does not exceed. Returns None for an empty
    histogram."""
    wanted = share * sum(counts)
    for place, up_to in enumerate(accumulate(counts)):
        if counts[place] and up_to >= wanted:
            low = BUCKETS[place - 1] if place else 0.0
            high = BUCKETS[min(place, len(BUCKETS) - 1)]
            return low + (wanted - (up_to - counts[place])) / counts[place] * (high - low)
    return None


def share_within(counts: Sequence[int], seconds: float) -> float | None:
    """Estimates the share of durations up to ``seconds``. Returns None if the histogram is empty."""
    total, within, low = sum(counts), 0.0, 0.0
    for count, high in zip(counts, BUCKETS, strict=False):
        within += count * min(max((seconds - low) / (high - low), 0.0), 1.0)
        low = high
    return within / total if total else None
