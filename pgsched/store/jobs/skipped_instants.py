"""Records ends without a run: skipped rows and ranges, and jobs that are finished or invalid."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.misfire_and_overlap import SkippedRange
from pgsched.errors import InvalidSchedule, PgschedError
from pgsched.store.core.refusals import refusal
from pgsched.store.core.sql import statement, statement_in

Connection = AsyncConnection[Any]


async def skip_claimed(connection: Connection, skipped: Sequence[tuple[ClaimedExecution, SkippedRange]]) -> None:
    """Moves claimed rows into history as skipped. Each represents a range that begins with its own instant."""
    rows: dict[tuple[int, int], list[tuple[UUID, SkippedRange]]] = defaultdict(list)
    for row, passed in skipped:
        rows[row.partition, row.token].append((UUID(bytes=row.id), passed))
    for (partition, token), found in rows.items():
        parameters = {
            "token": token,
            "ids": [id for id, _ in found],
            **_columns([passed for _, passed in found]),
        }
        await connection.execute(statement_in("ends/skip_claimed", partition), parameters)


async def skip_further(connection: Connection, skipped: Sequence[tuple[UUID, SkippedRange]]) -> None:
    """Accounts for ranges of jobs' instants that never had a row."""
    if not skipped:
        return
    parameters = {
        "jobs": [job for job, _ in skipped],
        "firsts": [passed.first for _, passed in skipped],
        **_columns([passed for _, passed in skipped]),
    }
    await connection.execute(statement("ends/skip_further"), parameters)


def _columns(ranges: Sequence[SkippedRange]) -> dict[str, list[Any]]:
    return {
        "lasts": [passed.last for passed in ranges],
        "counts": [passed.count for passed in ranges],
        "reasons": [passed.reason for passed in ranges],
    }


async def finish_jobs(connection: Connection, ended: Sequence[tuple[UUID, int, str]]) -> None:
    """Marks jobs as finished, with the reason. The jobs are given by id and revision."""
    jobs, revisions, reasons = zip(*ended, strict=True)
    parameters = {"jobs": list(jobs), "revisions": list(revisions), "reasons": list(reasons)}
    await connection.execute(statement("jobs/finish_jobs"), parameters)


async def mark_invalid(connection: Connection, job: UUID, revision: int | None, error: Exception) -> None:
    """Marks a job as invalid. ``revision`` is the revision with the invalid schedule, or None if the job is locked.

    The reason begins with the error code with which the same schedule would be rejected.
    """
    found = error if isinstance(error, PgschedError) else refusal(error) or InvalidSchedule(str(error))
    reason = f"{found.code}: {found}"
    await connection.execute(statement("jobs/mark_invalid"), {"job": job, "revision": revision, "reason": reason})
