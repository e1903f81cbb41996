"""Bulk changes: chunk by chunk, each a statement that notes how far it came.

A chunk is small: each of its rows has a subtransaction, and more of them than PostgreSQL keeps at hand would cost every
other session.
"""

from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.active import Active
from pgsched.store.core.isolation import reason_of
from pgsched.store.core.query import rows
from pgsched.store.core.sql import statement

MOST = 50
"""How many rows a chunk has."""


async def active(connection: AsyncConnection[Any]) -> list[Active]:
    """Those that are not done, the oldest first."""
    return await rows(connection, Active, "ends/active_bulk_changes")


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Ends one that cannot go on, with the reason; whether it did."""
    parameters = {"change": id, "reason": reason_of(error)}
    return (await connection.execute(statement("ends/give_up_bulk_change"), parameters)).rowcount > 0
