"""The days of history and attempts: making, attaching and dropping them, each in a short transaction of its own."""

from datetime import date
from typing import Any, Literal, NamedTuple

from psycopg import AsyncConnection

from pgsched.store.core.query import column, value
from pgsched.store.core.sql import statement

PARENTS = ("history", "attempts", "rollups")
"""What is kept in days."""
Step = Literal["going on", "adopted", "busy", "none", "apart"]
"""What a step came to: one more is to be taken; it was the last; the locks are not free at this moment; the default
partition has no rows; or there are tables between the days that it has rows of, or none yet for today and tomorrow."""


class Day(NamedTuple):
    """A day of history or of attempts."""

    parent: str
    day: date


async def to_make(connection: AsyncConnection[Any], *, ahead: int) -> list[Day]:
    """The days, today and so many ahead, that have no partition yet."""
    cursor = await connection.execute(statement("admin/days_to_make"), {"ahead": ahead})
    return [Day._make(row) for row in await cursor.fetchall()]


async def make(connection: AsyncConnection[Any], day: Day) -> bool:
    """Makes a day's table; False where another worker is at it."""
    return bool(await value(connection, "admin/make_day", **day._asdict()))


async def attach(connection: AsyncConnection[Any], day: Day) -> bool:
    """Makes it a partition; False where the locks for that are not free at this moment."""
    return bool(await value(connection, "admin/attach_day", **day._asdict()))


async def adopt_strays(connection: AsyncConnection[Any], parent: str) -> Step:
    """Takes the next step to make the default partition the table of the days that it has rows of."""
    step: Step = await value(connection, "admin/adopt_strays", parent=parent)
    return step


async def to_drop(connection: AsyncConnection[Any], *, kept: int) -> list[str]:
    """The tables of days that are older than so many days."""
    return await column(connection, "admin/days_to_drop", kept=kept)


async def drop(connection: AsyncConnection[Any], name: str) -> bool | None:
    """Drops a day's table; False where the locks are not free at this moment, None where dead letters are in it yet."""
    dropped: bool | None = await value(connection, "admin/drop_day", name=name)
    return dropped


async def trim_default(connection: AsyncConnection[Any], *, kept: int, batch: int) -> int:
    """Deletes what is older from the partitions that have no day, no more than ``batch``; returns how many."""
    return int(await value(connection, "admin/trim_default_days", kept=kept, most=batch))


async def keep_dead_letters(connection: AsyncConnection[Any], *, kept: int, batch: int) -> int:
    """Moves dead letters out of the days that are to be dropped, no more than ``batch``; returns how many."""
    return int(await value(connection, "admin/keep_dead_letters", kept=kept, most=batch) or 0)


async def expire_dead_letters(connection: AsyncConnection[Any], *, batch: int) -> int:
    """Deletes dead letters that have expired, no more than ``batch``; returns how many."""
    return int(await value(connection, "admin/expire_dead_letters", most=batch))
