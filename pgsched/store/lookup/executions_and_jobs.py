"""Lists executions, their attempts, dead letters and jobs. Pages run from the newest id to the oldest, or the reverse.

The cost of a page is bounded (``lookup.page_reach``), so a page may be short if its filter matches few rows.

Instants are in UTC. If Python cannot represent an instant, it is read as None (``infinity``: held) or as Python's last
instant.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from math import ceil
from typing import Any, TypeVar, cast
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.job_definition import Definition
from pgsched.store.core.query import first, one, rows
from pgsched.store.ends.dependencies import waits_for
from pgsched.store.lookup.clauses import Query, SortOrder, found, found_value
from pgsched.store.lookup.filters import DeadLetterFilter, ExecutionFilter, JobFilter
from pgsched.store.lookup.page_queries import (
    page_of_dead_letters,
    page_of_definitions,
    page_of_executions,
    page_of_jobs,
    reasons_of_dead_letters,
)
from pgsched.store.lookup.page_reach import FIRST_LOOK, reach_of_dead_letters, reach_of_executions, reach_of_jobs
from pgsched.store.lookup.row_types import (
    Attempt,
    DeadLetter,
    DeadLetterDetail,
    Execution,
    ExecutionDetail,
    JobRow,
    LastOutcome,
    LetterReason,
    Progress,
    RowPage,
    UsualDuration,
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
    """Returns up to ``limit`` executions after the execution ``after``. Unless ``contents``, payloads and results are
    None.
    """
    pages = reach_of_executions, page_of_executions
    return await _look(connection, Execution, *pages, wanted, limit, contents=contents, after=after, order=order)


async def get_execution(connection: AsyncConnection[Any], id: UUID) -> Execution:
    """Returns an execution. Raises NotFound, as do all functions here that get a single row."""
    missing = f"there is no execution {id}: the ids are in the list of executions; if this is a job's id, list the jobs"
    return await one(connection, Execution, "lookup/status_of", missing, id=id)


async def execution_detail(connection: AsyncConnection[Any], id: UUID) -> ExecutionDetail:
    """Returns an execution with everything that a detail view shows."""
    row = await get_execution(connection, id)
    return ExecutionDetail(
        **_fields(row),
        attempts=await attempts_of(connection, id),
        waits_for=await waits_for(connection, id),
        progress=await progress_of(connection, row),
    )


async def attempts_of(connection: AsyncConnection[Any], id: UUID) -> list[Attempt]:
    """Returns the failed attempts of an execution, in order."""
    return await rows(connection, Attempt, "lookup/attempts", execution=id)


async def progress_of(connection: AsyncConnection[Any], row: Execution) -> Progress | None:
    """Returns the progress that an execution's handler has reported. Returns None if it has reported nothing, or if the
    execution has succeeded since.
    """
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
    """Returns up to ``limit`` dead letters in this state after the dead letter ``after``. Unless ``contents``, payloads
    and results are None.
    """
    pages = reach_of_dead_letters, page_of_dead_letters
    how: dict[str, Any] = {"state": state, "after": after, "order": order}
    return await _look(connection, DeadLetter, *pages, wanted, limit, contents=contents, **how)


async def reasons_of(
    connection: AsyncConnection[Any], wanted: DeadLetterFilter, *, state: str, most: int
) -> list[LetterReason]:
    """Groups the newest dead letters by reason, up to ``most`` of them. The most frequent reasons come first."""
    reach = await found_value(connection, reach_of_dead_letters(wanted, state=state, after=None))
    reasons = reasons_of_dead_letters(wanted, state=state, limit=most, after=None, reach=reach)
    return await found(connection, LetterReason, reasons)


async def get_dead_letter(connection: AsyncConnection[Any], id: UUID) -> DeadLetter:
    missing = f"there is no dead letter {id}: list dead letters with state=all to find the right id"
    return await one(connection, DeadLetter, "lookup/dead_letters", missing, "id", id=id, limit=1, contents=True)


async def dead_letter_detail(connection: AsyncConnection[Any], id: UUID) -> DeadLetterDetail:
    """Returns a dead letter with its failed attempts."""
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
    """Returns up to ``limit`` jobs after the job ``after``."""
    return await _look(connection, JobRow, reach_of_jobs, page_of_jobs, wanted, limit, after=after, order=order)


async def list_definitions(
    connection: AsyncConnection[Any], wanted: JobFilter, *, limit: int, after: UUID | None = None
) -> RowPage[Definition]:
    """Like ``list_jobs``, but reads only the columns that decide when a job fires. There may be thousands of jobs."""
    return await _look(connection, Definition, reach_of_jobs, page_of_definitions, wanted, limit, after=after)


async def last_outcomes(
    connection: AsyncConnection[Any], jobs: Sequence[UUID], most: int
) -> dict[UUID, list[LastOutcome]]:
    """Returns up to ``most`` outcomes in history for each of these jobs, latest first."""
    if not most:
        return {}
    found: dict[UUID, list[LastOutcome]] = {id: [] for id in jobs}
    for outcome in await rows(connection, LastOutcome, "lookup/last_outcomes", jobs=list(jobs), most=most):
        found[outcome.job_id].append(outcome)
    return found


def durations(outcomes: Iterable[LastOutcome]) -> list[timedelta]:
    """Returns how long each successful one of these runs took."""
    return [one.duration for one in outcomes if one.status == "succeeded" and one.duration is not None]


def usual_duration(outcomes: Iterable[LastOutcome]) -> UsualDuration | None:
    """Returns how long the successful ones of these runs took, or None if there is none."""
    took = sorted(durations(outcomes))
    if not took:
        return None
    p50, p95 = (took[ceil(share * len(took)) - 1] for share in (0.5, 0.95))
    return UsualDuration(p50=p50, p95=p95, runs=len(took))


async def get_job(connection: AsyncConnection[Any], id: UUID) -> JobRow:
    return await one(connection, JobRow, "lookup/jobs", no_job(id), "id", id=id, limit=1)


async def get_edited_job(connection: AsyncConnection[Any], id: UUID, changes: str) -> JobRow:
    """Returns a job as it would be after ``pgsched.edit`` with this JSON text; writes nothing."""
    return await one(connection, JobRow, "lookup/edited_job", no_job(id), job=id, changes=changes)


def no_job(id: UUID) -> str:
    """Returns the error text for an id that no job has."""
    return f"there is no job {id}: the ids are in the list of jobs; a one-shot is in the list of executions"


async def planned_instant(connection: AsyncConnection[Any], job_id: UUID) -> tuple[datetime | None, datetime]:
    """Returns the instant of a job's waiting row, or None if it has no such row, and the database's time."""
    planned, now = await first(connection, "lookup/planned_instant", job=job_id) or (None, None)
    return planned, cast(datetime, now)


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
    """Reads a page by requesting one row more than the page holds. First searches a part of the rows that the page may
    examine and, if that is not enough, all of them.
    """
    reach, items = None, list[_Listed]()
    shown = {} if contents is None else {"contents": contents}
    for share in (FIRST_LOOK, 1):
        reach = await found_value(connection, reach_of(wanted, share=share, **how))
        items = await found(connection, row, page_of(wanted, limit=limit + 1, reach=reach, **how, **shown))
        if len(items) > limit or reach is None:
            break
    return RowPage(items=items[:limit], next=items[limit - 1].id if len(items) > limit else reach)
