"""Finds active jobs that have no row and has them planned; jobs with which that fails are left out."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.culprits import by_halves, is_a_lock, is_of_a_row
from pgsched.store.core.query import column
from pgsched.store.ends.ends_without_run import mark_invalid
from pgsched.store.jobs.unplanned_jobs import Repaired, repair_jobs


async def repair_others(
    connection: AsyncConnection[Any], *, after: UUID, most: int
) -> tuple[Repaired, list[tuple[UUID, str]]]:
    """``unplanned_jobs.repair_jobs``, without the jobs for whose sake it fails; (id, reason) of these, which are
    invalid then."""
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
    """Has a job be invalid, with the error as the reason, unless the database refuses even that; returns it."""
    try:
        await mark_invalid(connection, id, None, error)
    except Exception as refused:
        if not is_of_a_row(refused):
            raise
    return str(error)
