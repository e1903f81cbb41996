"""Reads and writes queues and their settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import class_row

from pgsched.errors import NotFound
from pgsched.store.admin.setting import changes_of
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.sql import statement
from pgsched.store.lookup.rows import Json
from pgsched.store.schedule.calls import value
from pgsched.store.schedule.order import check_text

MOST_COUNTED = 10_000
"""So many waiting executions of a queue are counted where it is listed, and no more."""
_CREATE: LiteralString = "select pgsched.create_queue(%(name)s, %(changes)s::jsonb, %(actor)s::text)"
_SET: LiteralString = "select pgsched.set_queue(%(name)s, %(changes)s::jsonb, %(actor)s::text)"
_DROP: LiteralString = "select pgsched.drop_queue(%(name)s, %(actor)s::text)"
_PAUSE: LiteralString = "select pgsched.pause_queue(%(name)s, %(note)s::text, %(actor)s::text)"
_RESUME: LiteralString = "select pgsched.resume_queue(%(name)s, %(note)s::text, %(actor)s::text)"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue. ``waiting`` is counted up to 10,000; the partitions are the first one and the fifteen after it."""

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


async def all_queues(connection: AsyncConnection[Any], *, name: str | None = None) -> list[QueueRow]:
    check_text("name", name)
    async with connection.cursor(row_factory=class_row(QueueRow)) as cursor:
        read_exactly(cursor)
        await cursor.execute(statement("admin/queues"), {"name": name, "most": MOST_COUNTED})
        return await cursor.fetchall()


async def get_queue(connection: AsyncConnection[Any], name: str) -> QueueRow:
    """Raises NotFound."""
    found = await all_queues(connection, name=name)
    if not found:
        raise NotFound(f"there is no queue {name[:100]!r}; create it, or look in the list of queues")
    return found[0]


async def create_queue(
    connection: AsyncConnection[Any], name: str, settings: Mapping[str, Any], *, actor: str | None
) -> None:
    """Raises InvalidInput for a name that cannot be, Conflict where there is one of this name."""
    await _value(connection, _CREATE, name, changes=changes_of(settings), actor=actor)


async def set_queue(
    connection: AsyncConnection[Any], name: str, changes: Mapping[str, Any], *, actor: str | None
) -> bool:
    """Sets what is named; whether anything is different now."""
    return bool(await _value(connection, _SET, name, changes=changes_of(changes), actor=actor))


async def drop_queue(connection: AsyncConnection[Any], name: str, *, actor: str | None) -> None:
    """Raises Conflict where something waits or runs in it, or jobs are in it."""
    await _value(connection, _DROP, name, actor=actor)


async def pause_queue(connection: AsyncConnection[Any], name: str, *, note: str | None, actor: str | None) -> bool:
    return bool(await _value(connection, _PAUSE, name, note=note, actor=actor))


async def resume_queue(connection: AsyncConnection[Any], name: str, *, note: str | None, actor: str | None) -> bool:
    return bool(await _value(connection, _RESUME, name, note=note, actor=actor))


async def _value(connection: AsyncConnection[Any], query: LiteralString, name: str, **parameters: Any) -> Any:
    check_text("name", name)
    check_text("note", parameters.get("note"))
    return await value(connection, query, name=name, **parameters)
