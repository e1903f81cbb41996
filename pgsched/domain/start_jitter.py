"""Spreads the starts of jobs, so that jobs do not all start at once.

The value of ``H`` in a cron expression is derived from the job's identity. So is the delay of a start by ``jitter`` or
``window``. Every worker that plans a row thus arrives at the same result. No run starts after the job's next instant,
so runs stay in order.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import blake2b

from pgsched.domain.cron_fields import DAY_OF_MONTH, LIMITS
from pgsched.domain.duration import MICROSECOND
from pgsched.errors import InvalidSchedule

_HASHED = re.compile(r"H(?:\((\d{1,2})-(\d{1,2})\))?(?:/(\d{1,2}))?", re.ASCII)
_NUMBER = re.compile(r"\d+", re.ASCII)
_EVERY_MONTH_HAS = 28


def identity_of(client: str, key: str | None, id: object) -> str:
    """Returns the identity of a job: its client and key, because keys outlive jobs, or its client and id if it has no
    key."""
    return f"{client}/{key or id}"


def resolve_hashes(expression: str, identity: str) -> str:
    """Replaces each ``H`` in a cron expression with values that depend only on the identity.

    ``H`` becomes a value of the field or, for the day of the month, a day that every month has. ``H(a-b)`` becomes a
    value from a to b. ``H/n`` and ``H(a-b)/n`` become every n-th value, beginning with one of the first n. An
    expression without ``H`` is returned unchanged. Raises InvalidSchedule for a range or step that the field does not
    have.
    """
    fields = expression.upper().split()
    if not 5 <= len(fields) <= 6 or not any(item.startswith("H") for field in fields for item in field.split(",")):
        return expression
    if fields[-2].startswith("H") and any(int(day[:3]) > _EVERY_MONTH_HAS for day in _NUMBER.findall(fields[-3])):
        raise InvalidSchedule(
            f"cron {expression[:64]!r} names a day that some months lack, and H may become any month: write L for "
            "the last day"
        )
    names = list(LIMITS)[-len(fields) :]
    return " ".join(_resolve(name, field, identity) for name, field in zip(names, fields, strict=True))


def _resolve(name: str, field: str, identity: str) -> str:
    drawn = int.from_bytes(blake2b(f"{identity}\n{name}".encode(), digest_size=8).digest())
    return ",".join(_value(name, item, drawn) if item.startswith("H") else item for item in field.split(","))


def _value(name: str, item: str, drawn: int) -> str:
    lowest, highest = LIMITS[name]
    found = _HASHED.fullmatch(item)
    if found is None:
        raise InvalidSchedule(f"cron {name} {item!r} is not valid: write H, H({lowest}-{highest}), H/2 or H(0-9)/2")
    given, step = found[1] is not None, int(found[3] or 0)
    low, high = (int(found[1]), int(found[2])) if given else (lowest, highest)
    if not lowest <= low < high <= highest:
        raise InvalidSchedule(
            f"cron {name} {item!r} has an invalid range: write one within {lowest}-{highest}, with the lower end first"
        )
    if found[3] is None:
        last = high if given or name != DAY_OF_MONTH else _EVERY_MONTH_HAS
        return str(low + drawn % (last - low + 1))
    if not 1 <= step <= high - low:
        raise InvalidSchedule(
            f"cron {name} {item!r} has an invalid step: write a step from 1 to {high - low}, or H without one"
        )
    first = low + drawn % step
    return str(first) if first + step > high else f"{first}-{high}/{step}"


def jittered(identity: str, instant: datetime, jitter: timedelta, following: datetime | None) -> datetime:
    """Returns a start at or after ``instant``, but before both ``instant + jitter`` and ``following``, the job's next
    instant.
    """
    width = _width(instant, jitter, following)
    return instant + _drawn(identity, instant, "jitter") % max(width, 1) * MICROSECOND


def slots(instant: datetime, window: timedelta, following: datetime | None, count: int = 16) -> tuple[datetime, ...]:
    """Returns the starts of ``count`` equal parts of the window, which ends at ``following`` at the latest."""
    width = _width(instant, window, following)
    return tuple(instant + width * n // count * MICROSECOND for n in range(count))


def emptiest(
    identity: str, instant: datetime, window: timedelta, counts: Sequence[int], following: datetime | None = None
) -> datetime:
    """Returns a start in the slot of the window that has the fewest waiting rows. ``counts`` contains the number of
    waiting rows in each slot. The identity decides among equally empty slots, and where in the slot the start is."""
    fewest = [n for n, waiting in enumerate(counts) if waiting == min(counts)]
    chosen = fewest[_drawn(identity, instant, "slot") % len(fewest)]
    width = _width(instant, window, following)
    begin, end = (width * n // len(counts) for n in (chosen, chosen + 1))
    return instant + (begin + _drawn(identity, instant, "moment") % max(end - begin, 1)) * MICROSECOND


def _width(instant: datetime, length: timedelta, following: datetime | None) -> int:
    room = length if following is None else min(length, following - instant)
    return room // MICROSECOND


def _drawn(identity: str, instant: datetime, what: str) -> int:
    text = f"{identity}\n{what}\n{instant.timestamp():.6f}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
