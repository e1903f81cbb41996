"""Bulk changes: chunk by chunk, each a statement that notes how far it came.

A chunk is small: each of its rows has a subtransaction, and more of them than PostgreSQL keeps at hand would cost every
other session.
"""

from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.active import Active
from pgsched.store.core.isolation import reason_of
from pgsched.store.core.query import first, rows
from pgsched.store.core.sql import statement

MOST = 50


class Chunk(NamedTuple):
    """What became of one turn at a bulk change. ``more``: the next chunk need not wait."""

    changed: int
    more: bool
    finished: bool


async def active(connection: AsyncConnection[Any]) -> list[Active]:
    """Those that are not done, the oldest first."""
    return await rows(connection, Active, "ends/active_bulk_changes")


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Ends one that cannot go on, with the reason; whether it did."""
    parameters = {"change": id, "reason": reason_of(error)}
    return (await connection.execute(statement("ends/give_up_bulk_change"), parameters)).rowcount > 0


async def advance(connection: AsyncConnection[Any], id: UUID) -> Chunk:
    """Changes the next rows. Nothing while those before are still ahead, and where another worker has it in hand."""
    return Chunk._make(await first(connection, "ends/advance_bulk_change", change=id, most=MOST) or (0, False, False))
