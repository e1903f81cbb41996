"""The median of each figure of a benchmark over its rounds."""

import statistics
from collections.abc import Sequence
from typing import Any


def medians(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the median of each figure over the rounds, and also the rounds themselves if there are several.

    A median is None if the figure could not be measured in a round. A boolean is True only if it was True in all
    rounds.
    """
    summed = {name: _median([one[name] for one in rounds]) for name in rounds[0]}
    return summed | ({"rounds": list(rounds)} if len(rounds) > 1 else {})


def _median(values: list[Any]) -> Any:
    if any(value is None for value in values):
        return None
    return all(values) if isinstance(values[0], bool) else statistics.median(values)
