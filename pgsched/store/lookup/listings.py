"""What can be looked up: executions, their attempts, dead letters, jobs. Pages go from the newest id to the oldest, or
the other way.

What a page costs is bounded (``lookup.reach``), so one of a filter that names little may be short; the next goes on.

Instants are in UTC. What Python cannot hold is read as None (``infinity``: held) or as its last instant.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import class_row, tuple_row

from pgsched.domain.definition import Definition
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.query import first, rows
from pgsched.store.lookup.dead_letter_pages import one_dead_letter, page_of_dead_letters, reasons_of_dead_letters
from pgsched.store.lookup.job_pages import one_job, page_of_definitions, page_of_jobs
from pgsched.store.lookup.order import SortOrder
from pgsched.store.lookup.pages import page_of_executions
from pgsched.store.lookup.reach import FIRST_LOOK, reach_of_dead_letters, reach_of_executions, reach_of_jobs
from pgsched.store.lookup.rows import (
    Attempt,
    DeadLetter,
    DeadLetterFilter,
    Execution,
    ExecutionFilter,
    JobFilter,
    JobRow,
    LastOutcome,
    LetterReason,
    Progress,
    RowPage,
)
from pgsched.store.lookup.written import Query, asked, one_of, page

_Row = TypeVar("_Row")
_Listed = TypeVar("_Listed", Execution, DeadLetter, Definition, JobRow)


async def list_executions(
    connection: AsyncConnection[Any],
    wanted: ExecutionFilter,
    *,
    limit: int,
    after: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> RowPage[Execution]:
    """At most ``limit`` executions that come after the one with the id ``after``; without ``contents``
    their payloads and results are None."""
    return await _look(
        connection,
        partial(asked, reach_of_executions, wanted, fixed=("statuses", "share", "order"), after=after, order=order),
        partial(
            page,
            page_of_executions,
            wanted,
            fixed=("statuses", "order", "contents"),
            after=after,
            order=order,
            contents=contents,
        ),
        Execution,
        limit,
    )


async def get_execution(connection: AsyncConnection[Any], id: UUID) -> Execution | None:
    found = await rows(connection, Execution, "lookup/status_of", id=id)
    return found[0] if found else None


async def attempts_of(connection: AsyncConnection[Any], id: UUID) -> list[Attempt]:
    """The failed tries of an execution, the first one first."""
    return await rows(connection, Attempt, "lookup/attempts", execution=id)


async def progress_of(connection: AsyncConnection[Any], row: Execution) -> Progress | None:
    """What the handler of an execution has said of how far it is; None where it said nothing, and once the execution
    has succeeded: what was said last is over."""
    if row.status == "succeeded":
        return None
    return next(iter(await rows(connection, Progress, "lookup/progress", execution=row.id)), None)


async def list_dead_letters(
    connection: AsyncConnection[Any],
    wanted: DeadLetterFilter,
    *,
    state: str,
    limit: int,
    after: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
    contents: bool = True,
) -> RowPage[DeadLetter]:
    """At most ``limit`` dead letters in this state that come after the one with the id ``after``; without ``contents``
    their payloads and results are None."""
    return await _look(
        connection,
        partial(
            asked,
            reach_of_dead_letters,
            wanted,
            fixed=("state", "share", "order"),
            state=state,
            after=after,
            order=order,
        ),
        partial(
            page,
            page_of_dead_letters,
            wanted,
            fixed=("state", "order", "contents"),
            state=state,
            after=after,
            order=order,
            contents=contents,
        ),
        DeadLetter,
        limit,
    )


async def reasons_of(
    connection: AsyncConnection[Any], wanted: DeadLetterFilter, *, state: str, most: int
) -> list[LetterReason]:
    """By which reasons the newest dead letters failed, ``most`` of them at the most: the most frequent reason first."""
    how: Any = {"state": state, "after": None, "order": SortOrder.NEWEST}
    reach = await _reach(
        connection, asked(reach_of_dead_letters, wanted, fixed=("state", "share", "order"), share=1, **how)
    )
    query = page(reasons_of_dead_letters, wanted, fixed=("state", "order"), limit=most, reach=reach, **how)
    return await _fetch(connection, query, LetterReason)


async def get_dead_letter(connection: AsyncConnection[Any], id: UUID) -> DeadLetter | None:
    found = await _fetch(connection, one_of(one_dead_letter, id), DeadLetter)
    return found[0] if found else None


async def list_jobs(
    connection: AsyncConnection[Any],
    wanted: JobFilter,
    *,
    limit: int,
    after: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
) -> RowPage[JobRow]:
    """At most ``limit`` jobs that come after the one with the id ``after``."""
    return await _look(
        connection,
        partial(asked, reach_of_jobs, wanted, fixed=("state", "share", "order"), after=after, order=order),
        partial(page, page_of_jobs, wanted, fixed=("state", "order"), after=after, order=order),
        JobRow,
        limit,
    )


async def list_definitions(
    connection: AsyncConnection[Any], wanted: JobFilter, *, limit: int, after: UUID | None = None
) -> RowPage[Definition]:
    """The same as ``list_jobs``, of each only when it fires: without its payload, so that there may be thousands."""
    return await _look(
        connection,
        partial(asked, reach_of_jobs, wanted, fixed=("state", "share", "order"), after=after, order=SortOrder.NEWEST),
        partial(page, page_of_definitions, wanted, fixed=("state", "order"), after=after, order=SortOrder.NEWEST),
        Definition,
        limit,
    )


async def last_outcomes(connection: AsyncConnection[Any], jobs: Sequence[UUID], most: int) -> list[LastOutcome]:
    """So many of each of these jobs as history has of them, the latest first."""
    return await rows(connection, LastOutcome, "lookup/last_outcomes", jobs=list(jobs), most=most) if most else []


async def get_job(connection: AsyncConnection[Any], id: UUID) -> JobRow | None:
    found = await _fetch(connection, one_of(one_job, id), JobRow)
    return found[0] if found else None


async def get_edited_job(connection: AsyncConnection[Any], id: UUID, changes: str) -> JobRow | None:
    """A job as it would be after ``pgsched.edit`` with this JSON text; nothing is written."""
    found = await rows(connection, JobRow, "lookup/edited_job", job=id, changes=changes)
    return found[0] if found else None


async def planned_instant(connection: AsyncConnection[Any], job_id: UUID) -> tuple[datetime | None, datetime]:
    """The instant of the row that a job waits with, or None; and the database's time."""
    planned, now = await first(connection, "lookup/planned_instant", job=job_id) or (None, None)
    return planned, cast(datetime, now)


async def _look(
    connection: AsyncConnection[Any],
    reach_of: Callable[..., Query | None],
    page_of: Callable[..., Query],
    row: type[_Listed],
    limit: int,
) -> RowPage[_Listed]:
    """A page of what is found where one more is asked for: in a part of what it may look at, or else in all of that."""
    reach = None
    found: list[_Listed] = []
    for share in (FIRST_LOOK, 1):
        reach = await _reach(connection, reach_of(share=share))
        found = await _fetch(connection, page_of(limit=limit + 1, reach=reach), row)
        if len(found) > limit or reach is None:
            break
    following = found[limit - 1].id if len(found) > limit else reach
    return RowPage(items=found[:limit], next=following)


async def _reach(connection: AsyncConnection[Any], query: Query | None) -> UUID | None:
    """The id at which a page ends. What comes in after it was found is newer, so it costs the page nothing."""
    if query is None:
        return None
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(query.text, query.parameters)
        [reached] = await cursor.fetchone() or (None,)
    return cast("UUID | None", reached)


async def _fetch(connection: AsyncConnection[Any], query: Query, row: type[_Row]) -> list[_Row]:
    async with connection.cursor(row_factory=class_row(row)) as cursor:
        read_exactly(cursor)
        await cursor.execute(query.text, query.parameters)
        return await cursor.fetchall()
