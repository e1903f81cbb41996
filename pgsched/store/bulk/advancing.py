"""Carries out bulk operations: chunk by chunk, each in a transaction that notes how far it came.

So a crash between two chunks loses and doubles nothing, however many workers there are.
"""

from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store import internal, verbs
from pgsched.store.bulk.backfill_chunks import ENDED_BY, plan_chunk
from pgsched.store.bulk.values import Active, Chunk
from pgsched.store.core.culprits import reason_of
from pgsched.store.core.query import rows
from pgsched.store.core.sql import statement

MOST = 50
"""How many rows a chunk changes. Each has a subtransaction, and more of them than PostgreSQL keeps at hand would cost
every other session."""
_PLANNED = 250


async def active(connection: AsyncConnection[Any]) -> list[Active]:
    """The operations that are not done, the oldest first."""
    return await rows(connection, Active, "bulk/active")


async def advance(connection: AsyncConnection[Any], one: Active) -> Chunk:
    """Does the next chunk of an operation. Raises InvalidSchedule, or OverflowError, where a backfill cannot go on."""
    if one.action == "backfill":
        return await plan_chunk(connection, one.id, most=_PLANNED)
    return await internal.advance_bulk(connection, one.id, most=MOST)


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Stops an operation that cannot go on, with the reason; whether it did."""
    async with connection.transaction():
        if not await verbs.stop_bulk(connection, id, actor=ENDED_BY):
            return False
        await connection.execute(statement("bulk/note_reason"), {"operation": id, "reason": reason_of(error)})
    return True
