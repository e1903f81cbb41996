"""What can be looked up: executions, their attempts, dead letters, jobs. Pages go from the newest id to the oldest, or
the other way.

What a page costs is bounded (``lookup.page_reach``), so one of a filter that names little may be short; the next
goes on.

Instants are in UTC. What Python cannot hold is read as None (``infinity``: held) or as its last instant.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.job_definition import Definition
from pgsched.errors import NotFound
from pgsched.store.core.query import first, one, rows
from pgsched.store.ends.dependencies import waits_for
from pgsched.store.lookup.clauses import Query, SortOrder, found, found_value, query
from pgsched.store.lookup.page_reach import FIRST_LOOK, reach_of_dead_letters, reach_of_executions, reach_of_jobs
from pgsched.store.lookup.pages import (
    page_of_dead_letters,
    page_of_definitions,
    page_of_executions,
    page_of_jobs,
    reasons_of_dead_letters,
)
from pgsched.store.lookup.row_types import (
    Attempt,
    DeadLetter,
    DeadLetterDetail,
    DeadLetterFilter,
    Execution,
    ExecutionDetail,
    ExecutionFilter,
    JobFilter,
    JobRow,
    LastOutcome,
    LetterReason,
    Progress,
    RowPage,
)

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
    pages = reach_of_executions, page_of_executions
    return await _look(connection, Execution, *pages, wanted, limit, contents=contents, after=after, order=order)


async def get_execution(connection: AsyncConnection[Any], id: UUID) -> Execution:
    """Raises NotFound, as every function here that gets one does."""
    missing = f"there is no execution {id}: look it up among the executions, or the jobs"
    return await one(connection, Execution, "lookup/status_of", missing, id=id)


async def execution_detail(connection: AsyncConnection[Any], id: UUID) -> ExecutionDetail:
    """An execution with all that is shown of one."""
    row = await get_execution(connection, id)
    return ExecutionDetail(
        **_fields(row),
        attempts=await attempts_of(connection, id),
        waits_for=await waits_for(connection, id),
        progress=await progress_of(connection, row),
    )


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
    pages = reach_of_dead_letters, page_of_dead_letters
    how: dict[str, Any] = {"state": state, "after": after, "order": order}
    return await _look(connection, DeadLetter, *pages, wanted, limit, contents=contents, **how)


async def reasons_of(
    connection: AsyncConnection[Any], wanted: DeadLetterFilter, *, state: str, most: int
) -> list[LetterReason]:
    """By which reasons the newest dead letters failed, ``most`` of them at the most: the most frequent reason first."""
    reach = await found_value(connection, reach_of_dead_letters(wanted, state=state, after=None))
    reasons = reasons_of_dead_letters(wanted, state=state, limit=most, after=None, reach=reach)
    return await found(connection, LetterReason, reasons)


async def get_dead_letter(connection: AsyncConnection[Any], id: UUID) -> DeadLetter:
    asked = query("lookup/dead_letters", {"id": id}, limit=1, contents=True)
    missing = f"there is no dead letter {id}: look it up among those of every state"
    return _there(await found(connection, DeadLetter, asked), missing)


async def dead_letter_detail(connection: AsyncConnection[Any], id: UUID) -> DeadLetterDetail:
    """A dead letter with its failed tries."""
    row = await get_dead_letter(connection, id)
    return DeadLetterDetail(**_fields(row), attempts=await attempts_of(connection, id))


async def list_jobs(
    connection: AsyncConnection[Any],
    wanted: JobFilter,
    *,
    limit: int,
    after: UUID | None = None,
    order: SortOrder = SortOrder.NEWEST,
) -> RowPage[JobRow]:
    """At most ``limit`` jobs that come after the one with the id ``after``."""
    return await _look(connection, JobRow, reach_of_jobs, page_of_jobs, wanted, limit, after=after, order=order)


async def list_definitions(
    connection: AsyncConnection[Any], wanted: JobFilter, *, limit: int, after: UUID | None = None
) -> RowPage[Definition]:
    """The same as ``list_jobs``, of each only when it fires: without its payload, so that there may be thousands."""
    return await _look(connection, Definition, reach_of_jobs, page_of_definitions, wanted, limit, after=after)


async def last_outcomes(
    connection: AsyncConnection[Any], jobs: Sequence[UUID], most: int
) -> dict[UUID, list[LastOutcome]]:
    """So many of each of these jobs as history has of them, the latest first; of none where ``most`` is 0."""
    if not most:
        return {}
    found: dict[UUID, list[LastOutcome]] = {id: [] for id in jobs}
    for outcome in await rows(connection, LastOutcome, "lookup/last_outcomes", jobs=list(jobs), most=most):
        found[outcome.job_id].append(outcome)
    return found


async def get_job(connection: AsyncConnection[Any], id: UUID) -> JobRow:
    return _there(await found(connection, JobRow, query("lookup/jobs", {"id": id}, limit=1)), _no_job(id))


async def get_edited_job(connection: AsyncConnection[Any], id: UUID, changes: str) -> JobRow:
    """A job as it would be after ``pgsched.edit`` with this JSON text; nothing is written."""
    return await one(connection, JobRow, "lookup/edited_job", _no_job(id), job=id, changes=changes)


def _no_job(id: UUID) -> str:
    return f"there is no job {id}: look it up among the jobs, one-shots among the executions"


async def planned_instant(connection: AsyncConnection[Any], job_id: UUID) -> tuple[datetime | None, datetime]:
    """The instant of the row that a job waits with, or None; and the database's time."""
    planned, now = await first(connection, "lookup/planned_instant", job=job_id) or (None, None)
    return planned, cast(datetime, now)


def _there(rows: Sequence[_Listed], missing: str) -> _Listed:
    if not rows:
        raise NotFound(missing)
    return rows[0]


def _fields(row: Execution | DeadLetter) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


async def _look(
    connection: AsyncConnection[Any],
    row: type[_Listed],
    reach_of: Callable[..., Query | None],
    page_of: Callable[..., Query],
    wanted: Any,
    limit: int,
    *,
    contents: bool | None = None,
    **how: Any,
) -> RowPage[_Listed]:
    """A page of what is found where one more is asked for: in a part of what it may look at, or else in all of that.
    What comes in after its end was found is newer, so it costs the page nothing."""
    reach, items = None, list[_Listed]()
    shown = {} if contents is None else {"contents": contents}
    for share in (FIRST_LOOK, 1):
        reach = await found_value(connection, reach_of(wanted, share=share, **how))
        items = await found(connection, row, page_of(wanted, limit=limit + 1, reach=reach, **how, **shown))
        if len(items) > limit or reach is None:
            break
    return RowPage(items=items[:limit], next=items[limit - 1].id if len(items) > limit else reach)
