"""Replaying many dead letters: chunk by chunk, each a statement that notes how far it came.

A chunk is small: each of its rows has a subtransaction, and more of them than PostgreSQL keeps at hand would cost every
other session.
"""

from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from pgsched.store.core.isolation import reason_of
from pgsched.store.core.sql import statement

MOST = 50


class Chunk(NamedTuple):
    """What became of one turn at a replay. ``more``: the next chunk need not wait."""

    replayed: int
    more: bool
    finished: bool


async def any_active(connection: AsyncConnection[Any]) -> bool:
    cursor = await connection.execute(statement("ends/any_replay"))
    row = await cursor.fetchone()
    return bool(row and row[0])


async def active(connection: AsyncConnection[Any]) -> list[UUID]:
    """The replays that are not done, the oldest first."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(statement("ends/active_replays"))
        return [row[0] for row in await cursor.fetchall()]


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Ends a replay that cannot go on, with the reason; whether it did."""
    parameters = {"replay": id, "reason": reason_of(error)}
    return (await connection.execute(statement("ends/give_up_replay"), parameters)).rowcount > 0


async def advance(connection: AsyncConnection[Any], id: UUID) -> Chunk:
    """Replays the next ones. Nothing while those before are still ahead, and where another worker has it in hand."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(statement("ends/advance_replay"), {"replay": id, "most": MOST})
        return Chunk._make(await cursor.fetchone() or (0, False, False))
