"""Handles planned rows that are held because their jobs were changed after the rows' instants had come.

If the new schedule still has the row's instant, the row becomes the job's next row again and keeps its id. If not, the
row ends as skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.query import rows
from pgsched.store.core.sql import statement

Connection = AsyncConnection[Any]


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A held row. ``is_locked`` is True if this session has locked the row, and False if another session has."""

    id: UUID
    job: UUID
    partition: int
    scheduled_for: datetime
    is_locked: bool


async def withdrawn_rows(connection: Connection, jobs: Sequence[UUID]) -> dict[UUID, list[Withdrawn]]:
    """Locks the withdrawn rows of these jobs, which are already locked. Returns them by job id, earliest first."""
    found: dict[UUID, list[Withdrawn]] = {}
    if jobs:
        for row in await rows(connection, Withdrawn, "jobs/withdrawn_rows", jobs=list(jobs)):
            found.setdefault(row.job, []).append(row)
    return found


async def plan_withdrawn(connection: Connection, kept: Sequence[tuple[Withdrawn, datetime]]) -> None:
    """Makes each of these rows its job's next row, with this start."""
    if kept:
        parameters = _named([row for row, _ in kept]) | {"fires": [start for _, start in kept]}
        await connection.execute(statement("jobs/plan_withdrawn"), parameters)


async def skip_withdrawn(connection: Connection, left: Sequence[tuple[Withdrawn, datetime]]) -> None:
    """Ends each of these rows as skipped. The row accounts for its job's instants up to the given time."""
    if left:
        parameters = _named([row for row, _ in left]) | {"lasts": [last for _, last in left]}
        await connection.execute(statement("jobs/skip_withdrawn"), parameters)


def _named(rows: Sequence[Withdrawn]) -> dict[str, Any]:
    return {"ids": [row.id for row in rows], "partitions": sorted({row.partition for row in rows})}
