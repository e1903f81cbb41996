"""Dealing with dead letters: the public functions of ``interface/`` as Python calls them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.errors import NotFound
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.sql import statement
from pgsched.store.lookup.rows import DeadLetterFilter, Json
from pgsched.store.schedule.order import check_text

_REPLAY: LiteralString = """
select pgsched.replay(%(id)s, target => %(target)s::text, payload => %(payload)s::jsonb, options => %(options)s::jsonb,
                      note => %(note)s::text, actor => %(actor)s::text)
"""
_DISCARD: LiteralString = "select pgsched.discard(%(id)s, note => %(note)s::text, actor => %(actor)s::text)"
_COUNT: LiteralString = "select matched, complete from pgsched.count_dead_letters(%(filter)s::jsonb)"
_REPLAY_ALL: LiteralString = """
select pgsched.replay_all(%(filter)s::jsonb, rate => %(rate)s, target => %(target)s::text, note => %(note)s::text,
                          actor => %(actor)s::text)
"""
_DISCARD_ALL: LiteralString = """
select discarded, complete
  from pgsched.discard_all(%(filter)s::jsonb, note => %(note)s::text, actor => %(actor)s::text)
"""
_CANCEL: LiteralString = "select pgsched.cancel_replay(%(id)s, actor => %(actor)s::text)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """With what a dead letter is replayed; what is None stays as it was. ``payload`` and ``options`` are JSON text."""

    target: str | None = None
    payload: str | None = None
    options: str | None = None

    def __post_init__(self) -> None:
        check_text("target", self.target)


class Counted(NamedTuple):
    """How many dead letters a filter names; where not ``complete``, there may be more."""

    matched: int
    complete: bool


class Discarded(NamedTuple):
    """How many were discarded; where not ``complete``, there may be more to discard."""

    discarded: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A replay of many and how far it is: those ``passed_over`` had been dealt with, or their work was under way.
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
    given = {"target": changes.target, "payload": changes.payload, "options": changes.options}
    check_text("note", note)
    [new_id] = await _one(connection, _REPLAY, id=id, note=note, actor=actor, **given)
    assert isinstance(new_id, UUID)
    return new_id


async def discard(connection: AsyncConnection[Any], id: UUID, *, note: str | None, actor: str | None) -> bool:
    """False if it was discarded before."""
    check_text("note", note)
    [changed] = await _one(connection, _DISCARD, id=id, note=note, actor=actor)
    return bool(changed)


async def count(connection: AsyncConnection[Any], wanted: DeadLetterFilter) -> Counted:
    """How many open ones there are, as far as they can be counted within some seconds."""
    return Counted._make(await _one(connection, _COUNT, filter=wanted.as_json()))


async def replay_all(
    connection: AsyncConnection[Any],
    wanted: DeadLetterFilter,
    *,
    rate: float,
    target: str | None,
    note: str | None,
    actor: str | None,
) -> UUID:
    """Has workers replay those that the filter names; the id by which to look how far they are."""
    check_text("target", target)
    check_text("note", note)
    given = {"rate": rate, "target": target, "note": note, "actor": actor}
    [new_id] = await _one(connection, _REPLAY_ALL, filter=wanted.as_json(), **given)
    assert isinstance(new_id, UUID)
    return new_id


async def discard_all(
    connection: AsyncConnection[Any], wanted: DeadLetterFilter, *, note: str | None, actor: str | None
) -> Discarded:
    """Discards as many as one call may."""
    check_text("note", note)
    return Discarded._make(await _one(connection, _DISCARD_ALL, filter=wanted.as_json(), note=note, actor=actor))


async def cancel_replay(connection: AsyncConnection[Any], id: UUID, *, actor: str | None) -> bool:
    """False if it had ended before."""
    [changed] = await _one(connection, _CANCEL, id=id, actor=actor)
    return bool(changed)


async def get_replay(connection: AsyncConnection[Any], id: UUID) -> Replay:
    """Raises NotFound."""
    found = await _replays(connection, replay=id, after=None, limit=1)
    if not found:
        raise NotFound(f"there is no replay {id}; look it up among the replays of dead letters")
    return found[0]


async def list_replays(connection: AsyncConnection[Any], *, limit: int, after: UUID | None = None) -> list[Replay]:
    """At most ``limit`` replays of many older than the one with the id ``after``, the newest first."""
    return await _replays(connection, replay=None, after=after, limit=limit)


async def _replays(
    connection: AsyncConnection[Any], *, replay: UUID | None, after: UUID | None, limit: int
) -> list[Replay]:
    async with connection.cursor(row_factory=class_row(Replay)) as cursor:
        read_exactly(cursor)
        await cursor.execute(statement("ends/replays"), {"replay": replay, "after": after, "limit": limit})
        return await cursor.fetchall()


async def _one(connection: AsyncConnection[Any], query: LiteralString, **parameters: Any) -> tuple[Any, ...]:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchone() or ()
