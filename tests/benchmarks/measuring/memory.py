"""The memory of processes of this machine, and whether it grows."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HOUR = 3600


class Sample(NamedTuple):
    """The memory of one process at a moment, in MB; None where the system does not tell."""

    seconds: float
    rss_mb: float | None
    pss_mb: float | None


def sample(pid: int, seconds: float) -> Sample:
    """What the process takes: all that is resident, and the same with what it shares counted by its share."""
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
    """MB an hour by which the resident memory grew, by least squares; None of fewer than three samples."""
    points = [(one.seconds, one.rss_mb) for one in samples if one.rss_mb is not None]
    if len(points) < 3:
        return None
    slope, _ = statistics.linear_regression(*zip(*points, strict=True))
    return round(slope * _HOUR, 3)
