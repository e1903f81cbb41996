"""Executions that wait for others: who still waits, and what follows from an end. The rules are the database's."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection
from pgsched.store.core.query import column, rows
from pgsched.store.core.sql import statement


class Pending(NamedTuple):
    """Whether any execution waits for another; in how many seconds a result that was kept is to be tried to record, and
    in how many one that a gate holds is to end: None where none is."""

    dependents: bool
    results_in: float | None
    overdue_in: float | None


async def pending(connection: Connection) -> Pending:
    """What there is to do for ends."""
    cursor = await connection.execute(statement("ends/dependencies_open"))
    return Pending(*(await cursor.fetchone() or (False, None, None)))


class ReleasePosition(NamedTuple):
    """An end, and behind which of those that wait for it to go on: None where all of them were looked at."""

    end: UUID
    behind: UUID | None = None


class ReleaseReport(NamedTuple):
    """How many ends were noted with all that wait for them, how many executions were released or skipped, and where
    to go on if there may be more."""

    noted: int = 0
    decided: int = 0
    read_to: ReleasePosition | None = None


async def release(connection: Connection, *, most: int, after: ReleasePosition | None = None) -> ReleaseReport:
    """Releases or skips what waited for executions that have ended, looking at so many ends, and at so many that wait
    for them as is quickly done."""
    end, behind = after or (None, None)
    noted, decided, read_to, behind_to = await internal_verbs.release_dependents(
        connection, most=most, after=end, behind=behind
    )
    return ReleaseReport(noted, decided, ReleasePosition(read_to, behind_to) if read_to else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """An execution that another waits for, until its end is noted."""

    after_id: UUID
    outcome: str
    status: str | None
    finished_at: datetime | None


async def dependencies_of(connection: AsyncConnection[Any], id: UUID, *, most: int = 100) -> list[Dependency]:
    """What an execution waits for, or waited for; of one that has ended none is kept."""
    return await rows(connection, Dependency, "ends/dependencies_of", id=id, most=most)


async def waits_for(connection: AsyncConnection[Any], id: UUID) -> list[UUID]:
    """The executions that a held one still waits for."""
    return await column(connection, "ends/waits_for", id=id)
