"""Spreads the starts of runs, so that jobs that fire at the same instant do not all start at once.

The offset is derived from the job's identity and the instant, so every worker that plans the row gets the same one. No
start comes after the job's next instant, so runs keep their order.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import blake2b

_MICROSECOND = timedelta(microseconds=1)


def jittered(identity: str, instant: datetime, jitter: timedelta, following: datetime | None) -> datetime:
    """A start from ``instant`` to before ``instant + jitter``, and before ``following``, the job's next instant."""
    width = _width(instant, jitter, following)
    return instant + _drawn(identity, instant, "jitter") % max(width, 1) * _MICROSECOND


def slots(instant: datetime, window: timedelta, following: datetime | None, count: int = 16) -> tuple[datetime, ...]:
    """Where the ``count`` equal parts of the window begin; ``following`` ends the window if it comes sooner."""
    width = _width(instant, window, following)
    return tuple(instant + width * n // count * _MICROSECOND for n in range(count))


def emptiest(
    identity: str, instant: datetime, window: timedelta, counts: Sequence[int], following: datetime | None = None
) -> datetime:
    """A start within the part of the window in which the fewest rows wait; ``counts`` has their number for each slot.

    One of the emptiest slots is drawn, and then the start within it.
    """
    fewest = [n for n, waiting in enumerate(counts) if waiting == min(counts)]
    chosen = fewest[_drawn(identity, instant, "slot") % len(fewest)]
    width = _width(instant, window, following)
    begin, end = (width * n // len(counts) for n in (chosen, chosen + 1))
    return instant + (begin + _drawn(identity, instant, "moment") % max(end - begin, 1)) * _MICROSECOND


def _width(instant: datetime, length: timedelta, following: datetime | None) -> int:
    room = length if following is None else min(length, following - instant)
    return room // _MICROSECOND


def _drawn(identity: str, instant: datetime, what: str) -> int:
    text = f"{identity}\n{what}\n{instant.timestamp():.6f}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
