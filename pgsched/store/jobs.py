"""Recurring jobs: planning their first row, and that of each edit; from then on claims carry them on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.domain.reckoning import Range
from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.rules import NO_RULES, Rules, parse_rules
from pgsched.domain.spread import identity_of
from pgsched.errors import InvalidSchedule
from pgsched.store.ends import finish_jobs, mark_invalid, skip_further
from pgsched.store.sql import statement
from pgsched.store.starts import start_within


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What planning needs of a recurring definition; ``rules`` as JSON, or as the driver read it."""

    id: UUID
    cron: str | None
    timezone: str
    every: timedelta | None
    anchor: datetime
    gap: str
    overlap: str
    planned_revision: int
    client: str
    key: str | None
    rules: Any
    runs: int
    paused_at: datetime | None
    revision: int
    partition: int

    @property
    def identity(self) -> str:
        return identity_of(self.client, self.key, self.id)

    def parsed(self) -> Rules:
        """Raises InvalidSchedule."""
        given = bytes(self.rules) if isinstance(self.rules, msgspec.Raw) else self.rules
        return NO_RULES if given is None else parse_rules(given)

    def recurrence(self) -> Recurrence:
        """What the row means. Raises InvalidSchedule."""
        return recurrence(
            cron=self.cron,
            every=self.every,
            timezone=self.timezone,
            gap=self.gap,
            overlap=self.overlap,
            anchor=self.anchor,
            identity=self.identity,
            rules=self.parsed(),
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The row that a job gets, what of it had none while it was paused, or why there is nothing left."""

    instant: datetime | None = None
    start: datetime | None = None
    paused: Range | None = None
    ended: str | None = None


async def plan_jobs(connection: AsyncConnection[Any], *, batch: int) -> tuple[int, list[tuple[Any, str]]]:
    """Plans jobs that are new or were edited, in one transaction.

    Returns how many were taken up, and (id, reason) of those whose schedule makes no sense.
    """
    async with connection.transaction():
        jobs = await _fetch(connection, statement("jobs_to_plan"), {"batch": batch})
        invalid = await _plan(connection, jobs)
    return len(jobs), invalid


async def plan_job(connection: AsyncConnection[Any], job_id: UUID) -> None:
    """Plans one job in the caller's transaction, if it is active and not planned yet.

    Raises InvalidSchedule for a schedule that makes no sense.
    """
    jobs = await _fetch(connection, statement("job_to_plan"), {"job": job_id})
    invalid = await _plan(connection, jobs)
    if invalid:
        raise InvalidSchedule(invalid[0][1])


async def repair_jobs(connection: AsyncConnection[Any]) -> int:
    """Takes up for planning again every active job without a row to carry it on; returns how many."""
    cursor = await connection.execute(statement("orphaned_jobs"))
    return cursor.rowcount


async def _plan(connection: AsyncConnection[Any], jobs: Sequence[Job]) -> list[tuple[Any, str]]:
    """Returns (id, reason) of those whose schedule makes no sense."""
    plans: dict[UUID, _Plan] = {}
    invalid: list[tuple[Any, str]] = []
    for job in jobs:
        try:
            plans[job.id] = await _plan_of(connection, job)
        except (InvalidSchedule, OverflowError) as error:
            invalid.append((job.id, str(error)))
            await mark_invalid(connection, job.id, None, error)
    await _insert(connection, plans)
    await skip_further(connection, [(id, plan.paused) for id, plan in plans.items() if plan.paused])
    ended = [(job.id, job.revision, why) for job in jobs if (plan := plans.get(job.id)) and (why := plan.ended)]
    if ended:
        await finish_jobs(connection, ended)
    if plans:
        await connection.execute(statement("mark_planned"), {"jobs": list(plans)})
    return invalid


async def _plan_of(connection: AsyncConnection[Any], job: Job) -> _Plan:
    """Raises InvalidSchedule."""
    rules, schedule = job.parsed(), job.recurrence()
    begin = await _planned_from(connection, job)
    paused = None
    if job.paused_at is not None and (missed := schedule.missed(job.paused_at, begin)):
        paused = Range(first=missed.first, last=missed.last, count=missed.count, reason="paused")
    if rules.max_runs is not None and job.runs >= rules.max_runs:
        return _Plan(paused=paused, ended="max_runs")
    instant = schedule.next_instant(begin)
    if instant is None:
        return _Plan(paused=paused, ended="no instant is left")
    start = await start_within(connection, schedule, rules, job.identity, job.partition, instant)
    return _Plan(instant=instant, start=start, paused=paused)


async def _planned_from(connection: AsyncConnection[Any], job: Job) -> datetime:
    """New and edited jobs go on from now; a repaired one from its last instant, so that none is missing.

    What is counted from the end of a run is so after an edit too, however often there is one.
    """
    from_end = job.planned_revision > 0 and job.paused_at is None and job.parsed().after_completion
    async with connection.cursor(row_factory=tuple_row) as cursor:
        if job.planned_revision == 0:
            await cursor.execute(statement("last_instant"), {"job": job.id})
            last = await cursor.fetchone()
            if last and last[0] is not None:
                return _moment(last[0])
        await cursor.execute(statement("plan_from_end" if from_end else "plan_from"), {"job": job.id})
        row = await cursor.fetchone()
    return _moment(row[0] if row else None)


async def _insert(connection: AsyncConnection[Any], plans: dict[UUID, _Plan]) -> None:
    rows = [(id, plan.instant, plan.start) for id, plan in plans.items() if plan.instant is not None]
    if rows:
        ids, instants, starts = zip(*rows, strict=True)
        parameters = {"jobs": list(ids), "instants": list(instants), "fires": list(starts)}
        await connection.execute(statement("plan"), parameters)


async def _fetch(connection: AsyncConnection[Any], query: Any, parameters: dict[str, Any]) -> list[Job]:
    async with connection.cursor(row_factory=class_row(Job)) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


def _moment(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise TypeError(f"not a moment: {value!r}")
    return value
