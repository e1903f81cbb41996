"""Starts backfills and shows them. An instant counts as run if history has its success; one that history does not keep,
or no longer keeps, counts as not run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import tuple_row

from pgsched.domain.definition import Definition
from pgsched.domain.recurrence import Recurrence
from pgsched.store import internal, verbs
from pgsched.store.core.query import one, rows
from pgsched.store.core.sql import statement

_AT_ONCE = 10_000
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What to backfill: the instants from ``start`` to before ``end``, at most ``rate`` of them a second."""

    start: datetime
    end: datetime
    rate: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What the range has. ``id`` is null after a dry run; ``run_already`` is what history knows to have succeeded."""

    id: UUID | None
    job_id: UUID
    instants: int
    run_already: int
    to_run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillBegun:
    """A backfill and how far its planning is, as its row has it.

    Of its ``instants`` (None until they are counted) those up to ``reached`` are accounted for: ``planned`` have had a
    row, ``passed_over`` had run or had a row already.
    """

    id: UUID
    job_id: UUID
    starts_at: datetime
    ends_at: datetime
    reached: datetime | None
    rate: float
    state: str
    instants: int | None
    planned: int
    passed_over: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """A backfill and its progress.

    Of its ``instants`` (None until they are counted) those up to ``reached`` are accounted for: ``planned`` have had a
    row, ``passed_over`` had run or had a row already. Of the rows ``live`` ones wait or run and ``finished`` ones are
    over, among them ``failed`` and ``cancelled`` ones.
    """

    id: UUID
    job_id: UUID
    starts_at: datetime
    ends_at: datetime
    reached: datetime | None
    rate: float
    state: str
    instants: int | None
    planned: int
    passed_over: int
    live: int
    finished: int
    failed: int
    cancelled: int
    created_at: datetime
    updated_at: datetime


async def backfill(
    connection: AsyncConnection[Any], job_id: UUID, wanted: Range, *, dry_run: bool, actor: str | None
) -> Backfilled:
    """Counts what a backfill of this range would run, and starts it unless it is a dry run. Raises NotFound, and the
    driver's error if it is refused."""
    await internal.check_backfill(connection, job_id, **_asked(wanted))
    found = await recurrence_of(connection, job_id)
    instants = await asyncio.to_thread(instants_in, found, wanted)
    run_already = 0
    async for succeeded in _succeeded(connection, job_id, wanted):
        run_already += await asyncio.to_thread(found.count_hits, succeeded)
    id = None if dry_run else await _start(connection, job_id, wanted, instants, actor)
    return Backfilled(id=id, job_id=job_id, instants=instants, run_already=run_already, to_run=instants - run_already)


async def _start(
    connection: AsyncConnection[Any], job_id: UUID, wanted: Range, instants: int, actor: str | None
) -> UUID:
    async with connection.transaction():
        id = await verbs.backfill(connection, job_id, **_asked(wanted), actor=actor)
        with suppress(InsufficientPrivilege):  # a client may not: a worker counts them, then
            async with connection.transaction():
                await connection.execute(statement("jobs/note_instants"), {"backfill": id, "instants": instants})
    return id


async def get(connection: AsyncConnection[Any], id: UUID) -> Backfill:
    """Raises NotFound."""
    missing = f"there is no backfill {id}; look it up among those of its job"
    return await one(connection, Backfill, "jobs/backfills", missing, backfill=id, job=None, after=None, limit=1)


async def get_begun(connection: AsyncConnection[Any], id: UUID) -> BackfillBegun:
    """The same of its row alone, which costs no more for a million executions. Raises NotFound."""
    missing = f"there is no backfill {id}; look it up among those of its job"
    return await one(connection, BackfillBegun, "jobs/backfills_begun", missing, backfill=id, job=None, limit=1)


async def begun(connection: AsyncConnection[Any], job_id: UUID, *, limit: int) -> list[BackfillBegun]:
    """The newest ones of a job, likewise."""
    return await rows(connection, BackfillBegun, "jobs/backfills_begun", backfill=None, job=job_id, limit=limit)


async def of_job(
    connection: AsyncConnection[Any], job_id: UUID, *, limit: int, after: UUID | None = None
) -> list[Backfill]:
    """At most ``limit`` backfills of a job older than the one with the id ``after``, the newest first.

    Raises NotFound for an unknown job.
    """
    await _job(connection, job_id)
    return await rows(connection, Backfill, "jobs/backfills", backfill=None, job=job_id, after=after, limit=limit)


async def recurrence_of(connection: AsyncConnection[Any], job_id: UUID) -> Recurrence:
    """When a job fires. Raises NotFound, and InvalidSchedule for one that makes no sense."""
    return await asyncio.to_thread((await _job(connection, job_id)).recurrence)


async def _job(connection: AsyncConnection[Any], job_id: UUID) -> Definition:
    """Raises NotFound."""
    missing = f"there is no job {job_id}; look it up among the jobs"
    return await one(connection, Definition, "jobs/job_to_backfill", missing, job=job_id)


def instants_in(found: Recurrence, wanted: Range) -> int:
    """How many instants a range has."""
    counted = found.missed(wanted.start - MICROSECOND, wanted.end - MICROSECOND)
    return counted.count if counted else 0


async def _succeeded(connection: AsyncConnection[Any], job_id: UUID, wanted: Range) -> AsyncIterator[list[int]]:
    """In blocks, so that a range of millions is not held at once."""
    async with connection.transaction(), connection.cursor("succeeded", row_factory=tuple_row) as cursor:
        span = {"job": job_id, "start": wanted.start, "end": wanted.end}
        await cursor.execute(statement("jobs/succeeded_instants"), span)
        while block := await cursor.fetchmany(_AT_ONCE):
            yield [row[0] for row in block]


def _asked(wanted: Range) -> dict[str, Any]:
    return {"starts_at": wanted.start, "ends_at": wanted.end, "rate": wanted.rate}
