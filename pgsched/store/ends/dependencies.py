"""Finds executions that wait for others, and releases them when the others end. The rules are in the database."""

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
    """``dependents`` says whether any execution waits for another. ``results_in`` is the number of seconds until a
    stored result must be recorded again, and ``overdue_in`` until an execution held by a gate must end. Both are None
    if there is no such result or execution.
    """

    dependents: bool
    results_in: float | None
    overdue_in: float | None


async def pending(connection: Connection) -> Pending:
    """Returns what remains to be done after executions have ended."""
    cursor = await connection.execute(statement("ends/pending"))
    return Pending(*(await cursor.fetchone() or (False, None, None)))


class ReleasePosition(NamedTuple):
    """An ended execution (``end``), and the last of its dependents that has been checked (``behind``), or None if all
    have been checked.
    """

    end: UUID
    behind: UUID | None = None


class ReleaseReport(NamedTuple):
    """``noted`` is the number of ends recorded for all their dependents; ``decided`` is the number of executions
    released or skipped. ``read_to`` is where to continue if there may be more.
    """

    noted: int = 0
    decided: int = 0
    read_to: ReleasePosition | None = None


async def release(connection: Connection, *, most: int, after: ReleasePosition | None = None) -> ReleaseReport:
    """Releases or skips executions that waited for executions that have ended. Processes up to ``most`` ends, and a
    limited number of their dependents.
    """
    end, behind = after or (None, None)
    noted, decided, read_to, behind_to = await internal_verbs.release_dependents(
        connection, most=most, after=end, behind=behind
    )
    return ReleaseReport(noted, decided, ReleasePosition(read_to, behind_to) if read_to else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """An execution that another execution waits for. ``status`` is None until the execution's end is recorded."""

    after_id: UUID
    outcome: str
    status: str | None
    finished_at: datetime | None


async def dependencies_of(connection: AsyncConnection[Any], id: UUID, *, most: int = 100) -> list[Dependency]:
    """Returns the executions that an execution waits for, or waited for. Nothing is stored for an execution that has
    ended.
    """
    return await rows(connection, Dependency, "ends/dependencies_of", id=id, most=most)


async def waits_for(connection: AsyncConnection[Any], id: UUID) -> list[UUID]:
    """Returns the executions that a held execution still waits for."""
    return await column(connection, "ends/waits_for", id=id)
