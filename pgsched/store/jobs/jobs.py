"""Plans the first row of a recurring job, and the next one after each edit; from then on claims plan the rows.

Schedules are evaluated in a thread, because clients decide how long that takes, and the event loop must go on; but for
plain intervals.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.definition import Definition
from pgsched.domain.reckoning import SkippedRange
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.rules import NO_RULES
from pgsched.errors import InvalidSchedule
from pgsched.store.core.isolation import is_a_lock, is_of_a_row, took_too_long
from pgsched.store.core.query import column, first, rows, value
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import LAST, to_datetime, to_instant
from pgsched.store.ends.ends import finish_jobs, mark_invalid, skip_further
from pgsched.store.jobs.starts import Planning, starts_of

FIRST = UUID(int=0)
_MICROSECOND = timedelta(microseconds=1)
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_AT_ONCE = 100  # jobs of which is asked together what they have


@dataclass(frozen=True, kw_only=True)
class PlannedJob(Definition):
    """What planning needs of a recurring definition.

    ``accounted_to``: the instants up to it have their account, those that come later are what is planned.
    """

    planned_revision: int
    runs: int
    paused_at: datetime | None
    accounted_to: datetime
    updated_at: datetime
    revision: int
    partition: int


@dataclass(frozen=True, slots=True)
class _Taken:
    """An instant for which a job has a row, or had one."""

    id: UUID
    scheduled_for: datetime


@dataclass(frozen=True, slots=True)
class _Plan:
    """The row that a job gets, what of it had none while it was paused, or why there is nothing left."""

    instant: datetime | None = None
    start: datetime | None = None
    paused: tuple[SkippedRange, ...] = ()
    ended: str | None = None


class PlanReport(NamedTuple):
    """How many jobs were taken up, (id, reason) of those whose schedule makes no sense, and whether there are more."""

    jobs: int
    invalid: list[tuple[Any, str]]
    more: bool


async def plan_jobs(connection: AsyncConnection[Any], *, batch: int, seconds: float = 0.2) -> PlanReport:
    """Plans jobs that are new or were edited, in one transaction, for about so long; clients take turns."""
    ids = await column(connection, "jobs/unplanned_jobs", batch=batch)
    if not ids:
        return PlanReport(0, [], False)
    until = time.monotonic() + seconds
    try:
        async with connection.transaction():
            jobs = await rows(connection, PlannedJob, "jobs/jobs_to_plan", jobs=ids)
            taken, invalid = await _plan(connection, jobs, until)
    except Exception as error:
        if not is_of_a_row(error):
            raise
        taken, invalid = await _plan_apart(connection, ids, seconds)
    return PlanReport(taken, invalid, taken > 0 and (taken < len(ids) or taken == batch))


async def _plan_apart(
    connection: AsyncConnection[Any], ids: Sequence[UUID], seconds: float
) -> tuple[int, list[tuple[Any, str]]]:
    """After an error that one of them has caused: job by job, so that only that one is left out, and says so.

    What could not be taken up comes first in the next turn too, and must not be all that there is time for.
    """
    invalid, taken = list[tuple[Any, str]](), 0
    until = time.monotonic() + seconds
    for id in ids:
        if taken and time.monotonic() > until:
            break
        try:
            async with connection.transaction():
                invalid += await _plan_one(connection, id)
        except Exception as error:
            if not is_of_a_row(error):
                raise
            if is_a_lock(error) or took_too_long(error):
                continue
            await mark_invalid(connection, id, None, error)
            invalid.append((id, str(error)))
        taken += 1
    return taken, invalid


async def plan_job(connection: AsyncConnection[Any], job_id: UUID) -> None:
    """Plans one job in the caller's transaction, if it is active and not planned yet.

    Raises InvalidSchedule for a schedule that makes no sense.
    """
    if invalid := await _plan_one(connection, job_id):
        raise InvalidSchedule(invalid[0][1])


class Repaired(NamedTuple):
    """How many jobs were taken up for planning again, and the one from which to go on if there may be more."""

    jobs: int
    after: UUID | None


async def repair_jobs(connection: AsyncConnection[Any], *, after: UUID = FIRST, most: int = 1000) -> Repaired:
    """Takes up for planning again those active jobs without a row to carry them on, of the next ``most`` jobs."""
    row = await first(connection, "jobs/orphaned_jobs", after=after, most=most)
    return Repaired(row[1], row[0]) if row else Repaired(0, None)


async def _plan_one(connection: AsyncConnection[Any], id: UUID) -> list[tuple[Any, str]]:
    _, invalid = await _plan(connection, await rows(connection, PlannedJob, "jobs/jobs_to_plan", jobs=[id]), inf)
    return invalid


async def _plan(
    connection: AsyncConnection[Any], jobs: Sequence[PlannedJob], until: float
) -> tuple[int, list[tuple[Any, str]]]:
    """Returns how many there was time for, and (id, reason) of those whose schedule makes no sense."""
    plans: dict[UUID, _Plan] = {}
    invalid: list[tuple[Any, str]] = []
    for count, job in enumerate(jobs):
        if count and time.monotonic() > until:
            jobs = jobs[:count]
            break
        if count % _AT_ONCE == 0:
            known = await _taken(connection, [(job, job.accounted_to) for job in jobs[count : count + _AT_ONCE]])
        try:
            plans[job.id] = await _plan_of(connection, job, known.get(job.id, frozenset()))
        except (InvalidSchedule, OverflowError) as error:
            invalid.append((job.id, str(error)))
            await mark_invalid(connection, job.id, None, error)
    await _insert(connection, plans)
    await skip_further(connection, [(id, paused) for id, plan in plans.items() for paused in plan.paused])
    ended = [(job.id, job.revision, why) for job in jobs if (plan := plans.get(job.id)) and (why := plan.ended)]
    if ended:
        await finish_jobs(connection, ended)
    if plans:
        await connection.execute(statement("jobs/mark_planned"), {"jobs": list(plans)})
    return len(jobs), invalid


async def _plan_of(connection: AsyncConnection[Any], job: PlannedJob, taken: Collection[datetime]) -> _Plan:
    """Raises InvalidSchedule."""
    rules = job.parsed()
    # An interval by itself takes no time: thousands of those that came at once need no thread each.
    aside = _at_once if job.cron is None and rules == NO_RULES else asyncio.to_thread
    schedule = await aside(job.recurrence)
    begin, paused = job.accounted_to, tuple[SkippedRange, ...]()
    if rules.after_completion and job.planned_revision > 0 and job.paused_at is None:
        begin = await _last_end(connection, job)
        if begin < job.accounted_to:
            taken = (await _taken(connection, [(job, begin)])).get(job.id, frozenset())
    if job.paused_at is not None:
        begin = max(begin, job.updated_at)
        paused = await aside(_without_row, schedule, job.accounted_to, begin, taken)
    if rules.max_runs is not None and job.runs >= rules.max_runs:
        return _Plan(paused=paused, ended="max_runs")
    instant = await aside(_first_free, schedule, begin, taken)
    if instant is None or instant > to_datetime(LAST):
        return _Plan(paused=paused, ended="no instant is left")
    [start] = await starts_of(connection, [Planning(job, job.partition, to_instant(instant))])
    return _Plan(instant=instant, start=to_datetime(start), paused=paused)


async def _at_once(function: Callable[_Given, _Found], /, *args: _Given.args, **named: _Given.kwargs) -> _Found:
    return function(*args, **named)


def _first_free(schedule: Recurrence, after: datetime, taken: Collection[datetime]) -> datetime | None:
    instant = schedule.next_instant(after)
    while instant is not None and instant in taken:
        instant = schedule.next_instant(instant)
    return instant


def _without_row(
    schedule: Recurrence, after: datetime, until: datetime, taken: Collection[datetime]
) -> tuple[SkippedRange, ...]:
    """The instants of a pause, but those that have their row already."""
    found = []
    for edge in [*sorted(at for at in taken if after < at < until), until]:
        missed = schedule.missed(after, edge - _MICROSECOND if edge in taken else edge)
        if missed is not None:
            found.append(SkippedRange.of(missed, "paused"))
        after = edge
    return tuple(found)


async def _taken(
    connection: AsyncConnection[Any], begins: Sequence[tuple[PlannedJob, datetime]]
) -> dict[UUID, set[datetime]]:
    """The instants later than its ``begin`` that each job has a row for, or had, by the jobs' ids."""
    parameters = {
        "jobs": [job.id for job, _ in begins],
        "begins": [begin for _, begin in begins],
        "changed": [job.updated_at for job, _ in begins],
    }
    found: dict[UUID, set[datetime]] = defaultdict(set)
    for taken in await rows(connection, _Taken, "jobs/taken_ahead", **parameters):
        found[taken.id].add(taken.scheduled_for)
    return found


async def _last_end(connection: AsyncConnection[Any], job: PlannedJob) -> datetime:
    """What is counted from the end of a run is so after an edit too, however often there is one."""
    ended: datetime | None = await value(connection, "jobs/plan_from_end", job=job.id)
    return ended or job.accounted_to


async def _insert(connection: AsyncConnection[Any], plans: dict[UUID, _Plan]) -> None:
    rows = [(id, plan.instant, plan.start) for id, plan in plans.items() if plan.instant is not None]
    if rows:
        ids, instants, starts = zip(*rows, strict=True)
        parameters = {"jobs": list(ids), "instants": list(instants), "fires": list(starts)}
        await connection.execute(statement("jobs/plan"), parameters)
