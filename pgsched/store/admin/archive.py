"""Reads days of history, to archive them before they are dropped."""

from collections.abc import AsyncIterator
from datetime import date
from typing import Any, Literal

from psycopg import AsyncConnection

from pgsched.store.core.sql import statement

Parent = Literal["history", "attempts"]
PARENTS: tuple[Parent, ...] = ("history", "attempts")
DAILY = (*PARENTS, "rollups")
"""The tables that are partitioned by day."""


async def read(connection: AsyncConnection[Any], parent: Parent, day: date) -> AsyncIterator[bytes]:
    """Yields one day as CSV with a header line, in chunks."""
    text = statement("admin/copy_day").replace("{parent}", parent)
    async with connection.cursor() as cursor, cursor.copy(text, {"day": day}) as copy:
        async for piece in copy:
            yield bytes(piece)
