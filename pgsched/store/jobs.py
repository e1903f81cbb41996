"""Recurring jobs: planning their next row, in the transaction in which it becomes due to be planned."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.domain.execution import Execution
from pgsched.domain.schedule import Schedule, from_parts, next_instant
from pgsched.errors import InvalidSchedule
from pgsched.store.sql import statement
from pgsched.store.wire import to_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What planning needs of a recurring definition; id and instants in the connection's own representation."""

    id: Any
    cron: str | None
    timezone: str
    every: timedelta | None
    anchor: Any
    gap: str
    overlap: str
    planned_revision: int

    def schedule(self) -> Schedule:
        """What the row means. Raises InvalidSchedule."""
        if self.cron is not None:
            return from_parts(cron=self.cron, timezone=self.timezone, gap=self.gap, overlap=self.overlap)
        anchor = to_datetime(self.anchor) if isinstance(self.anchor, int) else self.anchor
        return from_parts(every=self.every, anchor=anchor)


async def plan_successors(connection: AsyncConnection[Any], claimed: Sequence[Execution]) -> None:
    """Inserts the next row of each claimed recurring row. Runs inside the claim's transaction.

    A job that was edited, paused or cancelled since is left alone: whoever changed it plans it.
    """
    jobs, revisions = [row.job_id for row in claimed], [row.plan for row in claimed]
    async with connection.cursor(row_factory=class_row(Job), binary=True) as cursor:
        await cursor.execute(
            statement("jobs_in_hand"),
            {"jobs": [UUID(bytes=job) for job in jobs if job], "revisions": revisions},
        )
        found = {job.id: job for job in await cursor.fetchall()}
    planned: list[tuple[UUID, datetime]] = []
    for row in claimed:
        job = found.get(row.job_id)
        if job is None:
            continue
        try:
            instant = next_instant(job.schedule(), to_datetime(row.scheduled_for))
        except (InvalidSchedule, OverflowError) as error:
            # It was valid when it was planned; rules of time zones change. The others of this claim go on.
            await _mark_invalid(connection, UUID(bytes=job.id), error)
            continue
        if instant:
            planned.append((UUID(bytes=job.id), instant))
    await _insert(connection, planned)


async def plan_jobs(connection: AsyncConnection[Any], *, batch: int) -> tuple[int, list[tuple[Any, str]]]:
    """Plans jobs that are new or were edited, in one transaction.

    Returns how many were taken up, and (id, reason) of those whose schedule makes no sense.
    """
    async with connection.transaction():
        jobs = await _fetch(connection, statement("jobs_to_plan"), {"batch": batch})
        _, invalid = await _plan(connection, jobs)
    return len(jobs), invalid


async def plan_job(connection: AsyncConnection[Any], job_id: UUID) -> datetime | None:
    """Plans one job in the caller's transaction and returns its next instant; None when it is not active.

    Raises InvalidSchedule for a schedule that makes no sense.
    """
    jobs = await _fetch(connection, statement("job_to_plan"), {"job": job_id})
    instants, invalid = await _plan(connection, jobs)
    if invalid:
        raise InvalidSchedule(invalid[0][1])
    return instants[0] if instants else None


async def repair_jobs(connection: AsyncConnection[Any]) -> int:
    """Takes up for planning again every active job without a row to carry it on; returns how many."""
    cursor = await connection.execute(statement("orphaned_jobs"))
    return cursor.rowcount


async def _plan(connection: AsyncConnection[Any], jobs: Sequence[Job]) -> tuple[list[datetime], list[tuple[Any, str]]]:
    planned: list[tuple[UUID, datetime]] = []
    invalid: list[tuple[Any, str]] = []
    for job in jobs:
        try:
            instant = next_instant(job.schedule(), await _planned_from(connection, job))
        except (InvalidSchedule, OverflowError) as error:
            invalid.append((job.id, str(error)))
            await _mark_invalid(connection, job.id, error)
            continue
        if instant:
            planned.append((job.id, instant))
    await _insert(connection, planned)
    refused = {id for id, _ in invalid}
    if done := [job.id for job in jobs if job.id not in refused]:
        await connection.execute(statement("mark_planned"), {"jobs": done})
    return [instant for _, instant in planned], invalid


async def _planned_from(connection: AsyncConnection[Any], job: Job) -> datetime:
    """New and edited jobs go on from now; a repaired one from its last instant, so that none is missing."""
    async with connection.cursor(row_factory=tuple_row) as cursor:
        if job.planned_revision == 0:
            await cursor.execute(statement("last_instant"), {"job": job.id})
            last = await cursor.fetchone()
            if last and last[0] is not None:
                return _moment(last[0])
        await cursor.execute(statement("plan_from"), {"job": job.id})
        row = await cursor.fetchone()
    return _moment(row[0] if row else None)


async def _insert(connection: AsyncConnection[Any], planned: Sequence[tuple[UUID, datetime]]) -> None:
    if planned:
        ids, instants = [id for id, _ in planned], [instant for _, instant in planned]
        await connection.execute(statement("plan"), {"jobs": ids, "instants": instants})


async def _mark_invalid(connection: AsyncConnection[Any], job: UUID, error: Exception) -> None:
    await connection.execute(statement("mark_invalid"), {"job": job, "reason": str(error)})


async def _fetch(connection: AsyncConnection[Any], query: Any, parameters: dict[str, Any]) -> list[Job]:
    async with connection.cursor(row_factory=class_row(Job)) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


def _moment(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError(f"not a moment: {value!r}")
    return value
