"""Claims messages from pulled queues, for consumers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.query import rows, value
from pgsched.store.lookup.row_types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An execution that belongs to the consumer until ``lease_expires_at``; ``token`` proves the claim."""

    id: UUID
    token: str
    attempt: int
    delivery_count: int
    scheduled_for: datetime
    client: str
    key: str | None
    ordering_key: str | None
    job_id: UUID | None
    payload: Json
    target: str
    options: Json
    lease_expires_at: datetime


async def claim(
    connection: AsyncConnection[Any], queue: str, *, worker: str, batch: int, lease: timedelta
) -> list[Message]:
    return await rows(connection, Message, "pull/claim", queue=queue, worker=worker, batch=batch, lease=lease)


async def first_partition(connection: AsyncConnection[Any], queue: str) -> int | None:
    found = await value(connection, "pull/first_partition", queue=queue)
    return None if found is None else int(found)
