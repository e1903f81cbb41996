"""Replays dead letters, discards them by filter, and shows replays."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store import verbs
from pgsched.store.core.query import one, rows
from pgsched.store.ends.bulk_changes import COUNTED_WITHIN
from pgsched.store.lookup.rows import DeadLetterFilter, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """With what a dead letter is replayed; what is None stays as it was. ``payload`` and ``options`` are JSON text."""

    target: str | None = None
    payload: str | None = None
    options: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaying:
    """How many dead letters a filter names. ``id`` is null after a dry run. Where not ``complete``, there was no time
    to count more than ``matched``."""

    id: UUID | None
    matched: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedMany:
    """How many were discarded. Where not ``complete``, ask again: one request discards no more than it has time for."""

    discarded: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay of many and its progress: those ``passed_over`` had been dealt with, or their work was under way.
    ``reason`` says what it waits for."""

    id: UUID
    clients: list[str] | None
    filter: Json
    target: str | None
    rate: float
    state: str
    replayed: int
    passed_over: int
    reason: str | None
    actor: str
    created_at: datetime
    updated_at: datetime


async def replay(
    connection: AsyncConnection[Any], id: UUID, changes: Changes, *, note: str | None, actor: str | None
) -> UUID:
    """Runs a dead letter again; the id of the new execution. Raises the driver's error where it is refused."""
    return await verbs.replay(connection, id, **asdict(changes), note=note, actor=actor)


async def replay_all(
    connection: AsyncConnection[Any],
    wanted: DeadLetterFilter,
    *,
    rate: float,
    target: str | None,
    note: str | None,
    dry_run: bool,
    actor: str | None,
    counted_within: float = COUNTED_WITHIN,
) -> Replaying:
    """Counts the open ones that the filter names, for so many seconds at most; has workers replay them unless it is a
    dry run."""
    names = wanted.as_json()
    within = timedelta(seconds=counted_within)
    matched, complete = await verbs.count_dead_letters(connection, names, within=within)
    id = None
    if not dry_run:
        id = await verbs.replay_all(connection, names, rate=rate, target=target, note=note, actor=actor)
    return Replaying(id=id, matched=matched, complete=complete)


async def discard_all(
    connection: AsyncConnection[Any], wanted: DeadLetterFilter, *, note: str | None, actor: str | None
) -> DiscardedMany:
    """Discards as many as one call may."""
    discarded, complete = await verbs.discard_all(connection, wanted.as_json(), note=note, actor=actor)
    return DiscardedMany(discarded=discarded, complete=complete)


async def get_replay(connection: AsyncConnection[Any], id: UUID) -> Replay:
    """Raises NotFound."""
    missing = f"there is no replay {id}; look it up among the replays of dead letters"
    return await one(connection, Replay, "ends/replays", missing, replay=id, after=None, limit=1)


async def list_replays(connection: AsyncConnection[Any], *, limit: int, after: UUID | None = None) -> list[Replay]:
    """At most ``limit`` replays of many older than the one with the id ``after``, the newest first."""
    return await rows(connection, Replay, "ends/replays", replay=None, after=after, limit=limit)
