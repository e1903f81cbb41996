"""Reads queues, and writes their settings."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import one, rows, value
from pgsched.store.lookup.row_types import Json

MOST_COUNTED = 10_000
"""Waiting executions of a listed queue are counted up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue. ``waiting`` is counted up to 10,000. The queue's partitions are ``first_partition`` and the fifteen
    after it.
    """

    name: str
    options: Json
    weight: int
    max_waiting: int | None
    full_since: datetime | None
    paused_at: datetime | None
    reason: str | None
    pulled: bool
    waiting: int
    first_partition: int


async def all_queues(connection: AsyncConnection[Any]) -> list[QueueRow]:
    return await rows(connection, QueueRow, "admin/queues", name=None, most=MOST_COUNTED)


async def get_queue(connection: AsyncConnection[Any], name: str) -> QueueRow:
    """Returns the queue. Raises NotFound if there is no such queue."""
    missing = f"there is no queue {name[:100]!r}; create it, or check the list of queues"
    return await one(connection, QueueRow, "admin/queues", missing, name=name, most=MOST_COUNTED)


async def is_pulled(connection: AsyncConnection[Any], name: str) -> bool:
    """Whether consumers claim from the queue."""
    return bool(await value(connection, "admin/is_pulled", name=name))
