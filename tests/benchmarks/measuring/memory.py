"""Samples the memory of local processes and estimates its growth."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HOUR = 3600


class Sample(NamedTuple):
    """The memory of one process at a moment, in MB; None if the system does not report it."""

    seconds: float
    rss_mb: float | None
    pss_mb: float | None


def sample(pid: int, seconds: float) -> Sample:
    """Returns the resident memory of the process (RSS), and the same with shared pages counted proportionally (PSS)."""
    found: dict[str, float] = {}
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, rest = line.partition(":")
        if name in ("Rss", "Pss"):
            found[name] = round(int(rest.split()[0]) / 1024, 2)
    return Sample(round(seconds, 1), found.get("Rss"), found.get("Pss"))


def growth_per_hour(samples: Sequence[Sample]) -> float | None:
    """Returns the growth of resident memory in MB per hour, by least squares; None for fewer than three samples."""
    points = [(one.seconds, one.rss_mb) for one in samples if one.rss_mb is not None]
    if len(points) < 3:
        return None
    slope, _ = statistics.linear_regression(*zip(*points, strict=True))
    return round(slope * _HOUR, 3)
