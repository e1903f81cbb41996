"""Lists the ordering keys that failed executions block."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.query import rows


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedKey:
    """An ordering key whose other executions wait because ``execution_id`` failed for good. ``waiting`` is the number
    of waiting executions, counted up to 10,000.
    """

    client: str
    ordering_key: str
    queue: str | None
    execution_id: UUID
    reason: str | None
    blocked_at: datetime
    waiting: int


async def blocked_keys(
    connection: AsyncConnection[Any], *, limit: int, client: str | None = None, after: UUID | None = None
) -> list[BlockedKey]:
    """Returns up to ``limit`` blocked keys, newest first, after the key that the execution ``after`` blocks."""
    return await rows(connection, BlockedKey, "gates/blocked_keys", client=client, after=after, limit=limit)
