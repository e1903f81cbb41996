"""Percentiles of one series of durations, all of which are kept."""

from collections.abc import Sequence


def spread(seconds: Sequence[float], *shares: float) -> dict[str, float]:
    """Returns ``p50_ms`` and so on for ``shares``, and ``max_ms``: nearest rank, in milliseconds."""
    ranked = sorted(seconds)
    found = {f"p{share * 100:g}": ranked[min(len(ranked) - 1, int(len(ranked) * share))] for share in shares}
    return {f"{name}_ms": round(value * 1000, 3) for name, value in (found | {"max": ranked[-1]}).items()}
