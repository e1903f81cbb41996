"""Replaying many dead letters: chunk by chunk, each a statement that notes how far it came.

A chunk is small: each of its rows has a subtransaction, and more of them than PostgreSQL keeps at hand would cost every
other session.
"""

from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.isolation import reason_of
from pgsched.store.core.query import column, first
from pgsched.store.core.sql import statement

MOST = 50


class ReplayChunk(NamedTuple):
    """What became of one turn at a replay. ``more``: the next chunk need not wait."""

    replayed: int
    more: bool
    finished: bool


async def active(connection: AsyncConnection[Any]) -> list[UUID]:
    """The replays that are not done, the oldest first."""
    return await column(connection, "ends/active_replays")


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Ends a replay that cannot go on, with the reason; whether it did."""
    parameters = {"replay": id, "reason": reason_of(error)}
    return (await connection.execute(statement("ends/give_up_replay"), parameters)).rowcount > 0


async def advance(connection: AsyncConnection[Any], id: UUID) -> ReplayChunk:
    """Replays the next ones. Nothing while those before are still ahead, and where another worker has it in hand."""
    return ReplayChunk._make(await first(connection, "ends/advance_replay", replay=id, most=MOST) or (0, False, False))
