"""Finds the time zone rules by which rows were planned, and moves rows that newer rules place elsewhere.

A job is locked before its row, and both stay locked until the row is correct and the move is in the audit log.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.job_definition import Definition
from pgsched.errors import InvalidSchedule
from pgsched.store.core.culprits import Culprit, by_halves, is_a_lock
from pgsched.store.core.query import column, first, rows
from pgsched.store.core.sql import statement

FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The tzdata versions in use. ``planned_by`` is the version against which rows were last checked; ``behind`` is an
    older version that some worker has.
    """

    planned_by: str | None
    behind: str | None


class Rechecked(NamedTuple):
    """How many rows were moved, and the jobs left out because other sessions had locked them."""

    moved: int
    left: list[UUID]


class _Move(NamedTuple):
    """A waiting row and its new instant, which is None if the job no longer has one."""

    row: SimpleNamespace
    zone: str
    becomes: datetime | None


async def versions(connection: AsyncConnection[Any]) -> Versions:
    planned_by, behind = await first(connection, "jobs/zone_versions") or (None, None)
    return Versions(planned_by=planned_by, behind=behind)


async def note_version(connection: AsyncConnection[Any], version: str) -> None:
    """Records that all rows are planned by this version, unless a later one is already recorded."""
    await connection.execute(statement("jobs/note_planned_by"), {"version": version})


async def note_behind(connection: AsyncConnection[Any], version: str) -> None:
    """Records that a worker with this older version plans rows, so that the next worker with the later version rechecks
    them.
    """
    await connection.execute(statement("jobs/note_behind"), {"version": version})


async def try_lock(connection: AsyncConnection[Any], worker: int) -> bool:
    """Tries to reserve the recheck for this worker until it calls ``unlock`` or is lost. Returns True on success."""
    return bool(await column(connection, "jobs/lock_tzdata", worker=worker))


async def unlock(connection: AsyncConnection[Any], worker: int) -> None:
    """Lets other workers recheck."""
    await connection.execute(statement("jobs/unlock_tzdata"), {"worker": worker})


async def zoned_jobs(connection: AsyncConnection[Any], *, after: UUID, batch: int) -> list[UUID]:
    return await column(connection, "jobs/zoned_jobs", after=after, batch=batch)


async def recheck_others(
    connection: AsyncConnection[Any], jobs: Sequence[UUID], *, old: str, new: str
) -> tuple[Rechecked, list[Culprit[UUID]]]:
    """Like ``recheck``, but leaves out jobs that make it fail, and postpones jobs locked by other sessions."""
    found: list[Rechecked] = []

    async def work(part: Sequence[UUID]) -> None:
        found.append(await recheck(connection, part, old=old, new=new))

    parted = await by_halves(jobs, work)
    left = [id for one in found for id in one.left] + parted.untried
    left += [culprit.row for culprit in parted.culprits if is_a_lock(culprit.error)]
    failed = [culprit for culprit in parted.culprits if not is_a_lock(culprit.error)]
    return Rechecked(sum(one.moved for one in found), left), failed


async def recheck(connection: AsyncConnection[Any], jobs: Sequence[UUID], *, old: str, new: str) -> Rechecked:
    """Moves those rows of the jobs whose instants are wrong by this process's time zone rules, in one transaction."""
    async with connection.transaction():
        taken = {
            job.id: job for job in await rows(connection, Definition, "jobs/zoned_jobs_to_recheck", jobs=list(jobs))
        }
        moves = []
        for row in await rows(connection, SimpleNamespace, "jobs/planned_rows", jobs=list(taken)):
            job = taken[row.job_id]
            becomes = await asyncio.to_thread(_next, job, row.accounted)
            if becomes != row.scheduled_for:
                moves.append(_Move(row, job.timezone, becomes))
        await _apply(connection, moves)
        await _note(connection, moves, old=old, new=new)
        left = [id for id in jobs if id not in taken]
        left = await column(connection, "jobs/still_active", jobs=left) if left else []
    return Rechecked(len(moves), left)


def _next(job: Definition, after: datetime) -> datetime | None:
    try:
        return job.recurrence().next_instant(after)
    except (InvalidSchedule, OverflowError):  # the planner finds the same fault, and marks the job
        return None


async def _apply(connection: AsyncConnection[Any], moves: Sequence[_Move]) -> None:
    moved = [move for move in moves if move.becomes is not None]
    gone = [move for move in moves if move.becomes is None]
    if moved:
        await connection.execute(
            statement("jobs/move_rows"), _places(moved) | {"instants": [move.becomes for move in moved]}
        )
    if gone:
        await connection.execute(statement("jobs/withdraw_rows"), _places(gone))


def _places(moves: Sequence[_Move]) -> dict[str, Any]:
    return {"rows": [move.row.id for move in moves], "partitions": [move.row.partition for move in moves]}


async def _note(connection: AsyncConnection[Any], moves: Sequence[_Move], *, old: str, new: str) -> None:
    if moves:
        noted = {
            "old": old,
            "new": new,
            "jobs": [move.row.job_id for move in moves],
            "zones": [move.zone for move in moves],
            "was": [move.row.scheduled_for for move in moves],
            "becomes": [move.becomes for move in moves],
        }
        await connection.execute(statement("jobs/note_moves"), noted)
