"""Determines the next row of a job that is new or was changed, and accounts for earlier instants that have no row.

A change discards runs that should have begun before the change. A run that jitter or a window delays until after the
change is kept.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.duration import MICROSECOND
from pgsched.domain.job_definition import Definition
from pgsched.domain.misfire_and_overlap import SkippedRange
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.recurrence_rules import NO_RULES
from pgsched.store.core.query import first, rows
from pgsched.store.core.wire import LAST, LONG_AGO, to_datetime, to_instant
from pgsched.store.jobs.rows_held_by_edits import Withdrawn
from pgsched.store.jobs.start_windows import Planning, starts_of

Connection = AsyncConnection[Any]
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


@dataclass(frozen=True, kw_only=True)
class PlannedJob(Definition):
    """What planning needs to know of a recurring job.

    All instants up to ``accounted_to`` are accounted for; planning considers only later ones.
    """

    planned_revision: int
    runs: int
    paused_at: datetime | None
    accounted_to: datetime
    updated_at: datetime
    revision: int
    partition: int

    @property
    def has_run_out(self) -> bool:
        most = self.parsed().max_runs
        return most is not None and self.runs >= most


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRow:
    """A job's next row: a new row for ``instant``, or the withdrawn row that is ``kept``, with its ``start``. If there
    is none, ``ended`` says why.

    ``left`` are the withdrawn rows that end, each with the time up to which it accounts for the job's instants.
    ``paused`` are the instants of a pause that had no row.
    """

    instant: datetime | None = None
    kept: Withdrawn | None = None
    start: datetime | None = None
    left: tuple[tuple[Withdrawn, datetime], ...] = ()
    paused: tuple[SkippedRange, ...] = ()
    ended: str | None = None


async def next_row(
    connection: Connection, job: PlannedJob, taken: Collection[datetime], withdrawn: Sequence[Withdrawn]
) -> NextRow:
    """Determines a job's next row. Raises InvalidSchedule if the job's schedule is invalid."""
    # A plain interval is so fast that it needs no thread, even when thousands of jobs arrive at once.
    aside = _at_once if job.cron is None and job.parsed() == NO_RULES else asyncio.to_thread
    schedule = await aside(job.recurrence)
    begin, end, resumed = job.accounted_to, job.accounted_to, None
    if schedule.after_completion and job.planned_revision > 0 and job.paused_at is None:
        begin, end = await _last_end(connection, job)
        if begin < job.accounted_to:
            taken = (await taken_instants(connection, [(job, begin)])).get(job.id, frozenset())
    if job.paused_at is not None:
        begin = resumed = max(begin, job.updated_at)
    kept, start = await _still_there(connection, job, schedule, withdrawn, end, resumed)
    left = _left(job, withdrawn, kept)
    paused = tuple[SkippedRange, ...]()
    if resumed is not None:
        if kept is None:
            begin = await _before_late_start(connection, job, schedule, resumed, taken)
        paused = await aside(_without_row, schedule, job.accounted_to, begin, taken)
    if kept is not None:
        return NextRow(kept=kept, start=start, left=left, paused=paused)
    if job.has_run_out:
        return NextRow(left=left, paused=paused, ended="max_runs")
    instant = await aside(_first_free, schedule, begin, taken)
    if instant is None or instant > to_datetime(LAST):
        return NextRow(left=left, paused=paused, ended="no further instants")
    return NextRow(instant=instant, start=await _start(connection, job, instant), left=left, paused=paused)


async def taken_instants(
    connection: Connection, begins: Sequence[tuple[PlannedJob, datetime]]
) -> dict[UUID, set[datetime]]:
    """Returns, by job id, the instants after each job's ``begin`` for which the job has, or had, a row."""
    parameters = {
        "jobs": [job.id for job, _ in begins],
        "begins": [begin for _, begin in begins],
        "changed": [job.updated_at for job, _ in begins],
    }
    found: dict[UUID, set[datetime]] = defaultdict(set)
    for taken in await rows(connection, SimpleNamespace, "jobs/taken_ahead", **parameters):
        found[taken.id].add(taken.scheduled_for)
    return found


async def _still_there(
    connection: Connection,
    job: PlannedJob,
    schedule: Recurrence,
    withdrawn: Sequence[Withdrawn],
    end: datetime,
    resumed: datetime | None,
) -> tuple[Withdrawn | None, datetime | None]:
    """Returns the withdrawn row to keep, and its start. A row is kept if its instant is still in the schedule and its
    run would not begin during a pause.
    """
    if not withdrawn or job.has_run_out:
        return None, None
    row = withdrawn[0]
    before = end if schedule.after_completion else row.scheduled_for - MICROSECOND
    if await asyncio.to_thread(schedule.next_instant, before) != row.scheduled_for:
        return None, None
    start = await _start(connection, job, row.scheduled_for, earliest=job.updated_at)
    return (None, None) if resumed is not None and start <= resumed else (row, start)


def _left(
    job: PlannedJob, withdrawn: Sequence[Withdrawn], kept: Withdrawn | None
) -> tuple[tuple[Withdrawn, datetime], ...]:
    first = withdrawn[:1]
    return tuple((row, job.accounted_to if row in first else row.scheduled_for) for row in withdrawn if row is not kept)


async def _before_late_start(
    connection: Connection, job: PlannedJob, schedule: Recurrence, resumed: datetime, taken: Collection[datetime]
) -> datetime:
    """Returns the time at which a job was resumed or, if the last run before has yet to start, the time just before its
    instant.
    """
    spread = job.parsed().spread
    if spread is None or job.has_run_out:
        return resumed
    passed = await asyncio.to_thread(schedule.missed, max(job.accounted_to, resumed - spread), resumed)
    if passed is None or passed.last in taken:
        return resumed
    start = await _start(connection, job, passed.last, earliest=resumed)
    return passed.last - MICROSECOND if start > resumed else resumed


async def _start(
    connection: Connection, job: PlannedJob, instant: datetime, *, earliest: datetime | None = None
) -> datetime:
    bound = LONG_AGO if earliest is None else to_instant(earliest)
    [start] = await starts_of(connection, [Planning(job, job.partition, to_instant(instant), bound)])
    return to_datetime(start)


async def _at_once(function: Callable[_Given, _Found], /, *args: _Given.args, **named: _Given.kwargs) -> _Found:
    return function(*args, **named)


def _first_free(schedule: Recurrence, after: datetime, taken: Collection[datetime]) -> datetime | None:
    instant = schedule.next_instant(after)
    while instant is not None and instant in taken:
        instant = schedule.next_instant(instant)
    return instant


def _without_row(
    schedule: Recurrence, after: datetime, until: datetime, taken: Collection[datetime]
) -> tuple[SkippedRange, ...]:
    """Returns the instants of a pause, except those that already have a row."""
    found = []
    for edge in [*sorted(at for at in taken if after < at < until), until]:
        missed = schedule.missed(after, edge - MICROSECOND if edge in taken else edge)
        if missed is not None:
            found.append(SkippedRange.of(missed, "paused"))
        after = edge
    return tuple(found)


async def _last_end(connection: Connection, job: PlannedJob) -> tuple[datetime, datetime]:
    """Returns the instant from which the next interval is counted, and the end of the last run. An interval that is
    counted from the end of a run keeps this beginning, however often the job is edited.
    """
    found = await first(connection, "jobs/plan_from_end", job=job.id)
    begin, end = found if found is not None else (None, None)
    return begin or job.accounted_to, end or job.accounted_to
