"""Reads days of history, to archive them before they are dropped."""

from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Literal

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

Parent = Literal["history", "attempts"]
PARENTS: tuple[Parent, ...] = ("history", "attempts")
DAILY = (*PARENTS, "rollups")
"""What is kept in days."""
_COPY = {"history": statement("admin/copy_history"), "attempts": statement("admin/copy_attempts")}


async def read(connection: AsyncConnection[Any], parent: Parent, day: date) -> AsyncIterator[bytes]:
    """A day as CSV with a line of headings, in pieces."""
    async with connection.cursor() as cursor, cursor.copy(_COPY[parent], {"day": day}) as copy:
        async for piece in copy:
            yield bytes(piece)
