"""Forecasts how many executions fall due in each coming minute, at a cost that does not depend on the row count."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import rows
from pgsched.store.lookup.throughput import busiest_minute

MOST_MINUTES = 240
MOST_PER_MINUTE = 100_000
UNKNOWN = 10_000
"""The limit per minute while there is no record of work done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """How many executions are ``due`` in the minute that begins at ``minute``. In a ``hot`` minute, ``due`` exceeds the
    requested limit and is only a lower bound.
    """

    minute: datetime
    due: int
    hot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The number of executions above which a minute counts as too busy. ``busiest`` is the number of attempts in the
    workers' busiest minute of the last 7 days, or None if there were none.
    """

    per_minute: int
    busiest: int | None


async def bound_of_workers(connection: AsyncConnection[Any]) -> Bound:
    """Returns a bound derived from the attempts in the workers' busiest minute."""
    busiest = await busiest_minute(connection)
    return Bound(per_minute=min(busiest or UNKNOWN, MOST_PER_MINUTE), busiest=busiest)


async def forecast(
    connection: AsyncConnection[Any], *, minutes: int, per_minute: int, start: datetime | None = None
) -> list[Minute]:
    """Returns those of the next ``minutes`` in which executions fall due. The first is ``start`` or, if it is None, the
    current minute. Stops reading a minute once it is known to be hot.
    """
    found = await rows(connection, dict, "lookup/due_by_minute", start=start, minutes=minutes, most=per_minute + 1)
    return [Minute(**one, hot=one["due"] > per_minute) for one in found]
