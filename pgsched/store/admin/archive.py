"""Putting days of history away before they are dropped."""

from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Literal

from psycopg import AsyncConnection

from pgsched.store.core.query import column, value
from pgsched.store.core.sql import statement

Parent = Literal["history", "attempts"]
PARENTS: tuple[Parent, ...] = ("history", "attempts")
_COPY = {"history": statement("admin/copy_history"), "attempts": statement("admin/copy_attempts")}


async def to_archive(connection: AsyncConnection[Any]) -> list[date]:
    """The days that the installation keeps no longer and that have not been archived, the oldest first."""
    return await column(connection, "admin/days_to_archive")


async def read(connection: AsyncConnection[Any], parent: Parent, day: date) -> AsyncIterator[bytes]:
    """A day as CSV with a line of headings, in pieces."""
    async with connection.cursor() as cursor, cursor.copy(_COPY[parent], {"day": day}) as copy:
        async for piece in copy:
            yield bytes(piece)


async def mark(connection: AsyncConnection[Any], day: date, *, actor: str | None) -> bool:
    """Says that a day has been put away; False if that was said before."""
    return bool(await value(connection, "admin/mark_archived", day=day, actor=actor))
