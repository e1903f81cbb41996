"""How many executions fall due in each of the coming minutes, at a cost that does not grow with the number of rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import rows
from pgsched.store.lookup.throughput import busiest_minute

MOST_MINUTES = 240
MOST_PER_MINUTE = 100_000
UNKNOWN = 10_000
"""What counts as too many where workers have done nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """How many fall due in the minute that begins at ``minute``. One that is ``hot`` has at least so many, and more
    than was asked for."""

    minute: datetime
    due: int
    hot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """More than ``per_minute`` in a minute is too many. ``busiest`` is how many attempts workers have made in their
    busiest minute of the last 7 days, where the bound is that."""

    per_minute: int
    busiest: int | None


async def bound_of_workers(connection: AsyncConnection[Any]) -> Bound:
    """What workers are known to do in a minute, up to the most that is counted."""
    busiest = await busiest_minute(connection)
    return Bound(per_minute=min(busiest or UNKNOWN, MOST_PER_MINUTE), busiest=busiest)


async def forecast(
    connection: AsyncConnection[Any], *, minutes: int, per_minute: int, start: datetime | None = None
) -> list[Minute]:
    """Those of so many minutes in which something falls due, from ``start`` or the present minute on. No more is read
    of one than shows that it is hot."""
    found = await rows(connection, dict, "lookup/due_by_minute", start=start, minutes=minutes, most=per_minute + 1)
    return [Minute(**one, hot=one["due"] > per_minute) for one in found]
