"""Cancels and reschedules executions by filter, and shows the bulk changes that do it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.errors import InvalidSchedule
from pgsched.store import verbs
from pgsched.store.core.query import one, rows
from pgsched.store.lookup.rows import ExecutionFilter, Json

COUNTED_WITHIN = 5.0
"""Seconds after which counting ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingMany:
    """How many executions a filter names. ``id`` is null after a dry run. Where not ``complete``, there was no time to
    count more than ``matched``."""

    id: UUID | None
    matched: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkChange:
    """A bulk change and its progress: those ``passed_over`` had begun or ended, or were no longer meant, when it
    was their turn. ``reason`` says what it waits for, or why it was given up."""

    id: UUID
    verb: str
    clients: list[str] | None
    filter: Json
    target: str | None
    fire_at: datetime | None
    shift: timedelta | None
    note: str | None
    rate: float
    state: str
    changed: int
    passed_over: int
    reason: str | None
    actor: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """At most ``rate`` of them a second; ``dry_run`` only counts. Counting ends after ``counted_within`` seconds."""

    rate: float = 1000.0
    note: str | None = None
    dry_run: bool = False
    actor: str | None = None
    counted_within: float = COUNTED_WITHIN


async def cancel_many(connection: AsyncConnection[Any], wanted: ExecutionFilter, how: How) -> ChangingMany:
    """Counts those that the filter names, as far as there is time; has workers cancel them unless it is a dry run."""
    return await _change(connection, verbs.cancel_executions, wanted, how)


async def reschedule_many(
    connection: AsyncConnection[Any],
    wanted: ExecutionFilter,
    how: How,
    *,
    fire_at: datetime | None = None,
    shift: timedelta | None = None,
) -> ChangingMany:
    """The same of moving them to an instant, or each by so much. Raises InvalidSchedule unless one of them is given."""
    if (fire_at is None) is (shift is None):
        raise InvalidSchedule("when shall they fire? Give either an instant, or a shift by which each is moved")
    reschedule = partial(verbs.reschedule_executions, fire_at=fire_at, shift=shift)
    return await _change(connection, reschedule, wanted, how)


async def get_bulk_change(connection: AsyncConnection[Any], id: UUID) -> BulkChange:
    """Raises NotFound."""
    missing = f"there is no bulk change {id}; look it up among the bulk changes"
    return await one(connection, BulkChange, "ends/bulk_changes", missing, change=id, after=None, limit=1)


async def list_bulk_changes(
    connection: AsyncConnection[Any], *, limit: int, after: UUID | None = None
) -> list[BulkChange]:
    """At most ``limit`` of them older than the one with the id ``after``, the newest first."""
    return await rows(connection, BulkChange, "ends/bulk_changes", change=None, after=after, limit=limit)


async def _change(
    connection: AsyncConnection[Any], change: Callable[..., Awaitable[UUID]], wanted: ExecutionFilter, how: How
) -> ChangingMany:
    names = wanted.as_json()
    within = timedelta(seconds=how.counted_within)
    matched, complete = await verbs.count_executions(connection, names, within=within)
    id = None
    if not how.dry_run:
        id = await change(connection, names, rate=how.rate, note=how.note, actor=how.actor)
    return ChangingMany(id=id, matched=matched, complete=complete)
