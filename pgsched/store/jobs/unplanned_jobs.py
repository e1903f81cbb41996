"""Plans the first row of a recurring job, and its next row after each edit. Claims plan all other rows.

Schedules other than plain intervals are evaluated in a thread, because some take so long that the event loop would
stall.
"""

import time
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.errors import InvalidSchedule
from pgsched.store.core.culprits import by_halves, is_a_lock, is_of_a_row, took_too_long
from pgsched.store.core.query import column, first, rows, value
from pgsched.store.core.sql import statement
from pgsched.store.jobs.next_row_after_change import NextRow, PlannedJob, next_row, taken_instants
from pgsched.store.jobs.rows_held_by_edits import plan_withdrawn, skip_withdrawn, withdrawn_rows
from pgsched.store.jobs.skipped_instants import finish_jobs, mark_invalid, skip_further

FIRST = UUID(int=0)
_AT_ONCE = 100  # jobs whose existing rows are read together


class PlanReport(NamedTuple):
    """How many jobs were processed, (id, reason) of each with an invalid schedule, and whether more jobs are left."""

    jobs: int
    invalid: list[tuple[Any, str]]
    more: bool


async def plan_jobs(connection: AsyncConnection[Any], *, batch: int, seconds: float = 0.2) -> PlanReport:
    """Plans new and edited jobs in one transaction, for about ``seconds``; clients take turns."""
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
    """Plans the jobs one by one after one of them has caused an error, so that only the faulty job is left out and
    marked. The faulty job comes first in the next pass, too, and must not use up all the time.
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
    """Plans one job in the caller's transaction, if the job is active and not planned yet. If a change left a held row
    of the job, leaves the planning to a worker, because only workers may end such rows.

    Raises InvalidSchedule for an invalid schedule.
    """
    if await value(connection, "jobs/has_withdrawn", job=job_id):
        return
    if invalid := await _plan_one(connection, job_id, has_withdrawn=False):
        raise InvalidSchedule(invalid[0][1])


class Repaired(NamedTuple):
    """How many jobs were marked for replanning, and the job at which to continue if there may be more."""

    jobs: int
    after: UUID | None


async def repair_jobs(connection: AsyncConnection[Any], *, after: UUID = FIRST, most: int = 1000) -> Repaired:
    """Examines the next ``most`` jobs, and marks for replanning the active jobs that have no row from which to
    continue.
    """
    row = await first(connection, "jobs/orphaned_jobs", after=after, most=most)
    return Repaired(row[1], row[0]) if row else Repaired(0, None)


async def repair_others(
    connection: AsyncConnection[Any], *, after: UUID, most: int
) -> tuple[Repaired, list[tuple[UUID, str]]]:
    """Like ``repair_jobs``, but leaves out any job that causes an error and marks it invalid. Also returns (id, reason)
    of each such job.
    """
    try:
        return await repair_jobs(connection, after=after, most=most), []
    except Exception as error:
        if not is_of_a_row(error):
            raise
        failed = error
    ids = await column(connection, "jobs/jobs_to_sweep", after=after, most=most)
    before, count = dict(zip(ids, [after, *ids], strict=False)), 0

    async def work(part: Sequence[UUID]) -> None:
        nonlocal count
        count += (await repair_jobs(connection, after=before[part[0]], most=len(part))).jobs

    parted = await by_halves(ids, work, failed=failed)
    invalid = [
        (one.row, await give_up(connection, one.row, one.error)) for one in parted.culprits if not is_a_lock(one.error)
    ]
    reached = before[min(parted.untried)] if parted.untried else ids[-1] if len(ids) == most else None
    return Repaired(count, reached), invalid


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> str:
    """Marks a job as invalid because of the error, unless the database refuses even that. Returns the reason."""
    try:
        await mark_invalid(connection, id, None, error)
    except Exception as refused:
        if not is_of_a_row(refused):
            raise
    return str(error)


async def _plan_one(connection: AsyncConnection[Any], id: UUID, *, has_withdrawn: bool = True) -> list[tuple[Any, str]]:
    jobs = await rows(connection, PlannedJob, "jobs/jobs_to_plan", jobs=[id])
    _, invalid = await _plan(connection, jobs, inf, has_withdrawn=has_withdrawn)
    return invalid


async def _plan(
    connection: AsyncConnection[Any], jobs: Sequence[PlannedJob], until: float, *, has_withdrawn: bool = True
) -> tuple[int, list[tuple[Any, str]]]:
    """Returns how many jobs were processed in time, and (id, reason) of each job with an invalid schedule."""
    plans: dict[UUID, NextRow] = {}
    invalid: list[tuple[Any, str]] = []
    for count, job in enumerate(jobs):
        if count and time.monotonic() > until:
            jobs = jobs[:count]
            break
        if count % _AT_ONCE == 0:
            part = jobs[count : count + _AT_ONCE]
            known = await taken_instants(connection, [(one, one.accounted_to) for one in part])
            withdrawn = await withdrawn_rows(connection, [one.id for one in part if has_withdrawn and one.revision > 1])
        held = withdrawn.get(job.id, [])
        if not all(row.is_locked for row in held):
            continue  # the session that has locked the row decides first
        try:
            plans[job.id] = await next_row(connection, job, known.get(job.id, frozenset()), held)
        except (InvalidSchedule, OverflowError) as error:
            invalid.append((job.id, str(error)))
            await mark_invalid(connection, job.id, None, error)
    await _write(connection, plans)
    ended = [(job.id, job.revision, why) for job in jobs if (plan := plans.get(job.id)) and (why := plan.ended)]
    if ended:
        await finish_jobs(connection, ended)
    if plans:
        await connection.execute(statement("jobs/mark_planned"), {"jobs": list(plans)})
    return len(jobs), invalid


async def _write(connection: AsyncConnection[Any], plans: dict[UUID, NextRow]) -> None:
    rows = [(id, plan.instant, plan.start) for id, plan in plans.items() if plan.instant is not None]
    if rows:
        ids, instants, starts = zip(*rows, strict=True)
        parameters = {"jobs": list(ids), "instants": list(instants), "fires": list(starts)}
        await connection.execute(statement("jobs/plan"), parameters)
    kept = [(plan.kept, plan.start) for plan in plans.values() if plan.kept is not None and plan.start is not None]
    await plan_withdrawn(connection, kept)
    await skip_withdrawn(connection, [left for plan in plans.values() for left in plan.left])
    await skip_further(connection, [(id, paused) for id, plan in plans.items() for paused in plan.paused])
