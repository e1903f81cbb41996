"""Finds the runs of other jobs that claimed rows depend on, and makes the rows wait (``domain.upstream_run``)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.duration import MICROSECOND
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.upstream_run import After, Decision, Other, OtherRun, WaitFor, decide_upstream
from pgsched.errors import InvalidSchedule
from pgsched.store import internal_verbs
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import Instant, to_datetime, to_instant
from pgsched.store.jobs.definition_cache import ClaimedDefinition, claimed_definition

Connection = AsyncConnection[Any]


async def decide_after(
    connection: Connection, row: ClaimedExecution, definition: ClaimedDefinition, after: After
) -> Decision:
    """Decides what to do with a claimed row that depends on another job's run."""
    instant = to_datetime(row.scheduled_for)
    begin, end = after.period(instant, definition.timezone)
    other = await _other(connection, definition.client, after.job, instant, (begin, end))
    return decide_upstream(after, other, instant, begin)


async def queue_after(connection: Connection, row: ClaimedExecution, decided: WaitFor, *, carries_on: bool) -> None:
    """Makes a claimed row wait for the end of another job's run, and has workers check whether it can be released."""
    parameters = {
        "id": UUID(bytes=row.id),
        "token": row.token,
        "after": UUID(bytes=decided.run.id),
        "carries_on": carries_on,
    }
    await connection.execute(statement_in("jobs/queue_after", row.partition), parameters)
    await internal_verbs.notify_workers(connection, "release")


async def _other(
    connection: Connection, client: str, key: str, instant: datetime, period: tuple[datetime, datetime]
) -> Other:
    named = {"client": client, "key": key}
    found = await (await connection.execute(statement("jobs/other_job"), named, binary=True)).fetchone()
    if found is None:
        return Other()
    job, (state, created_at, is_planned, keeps) = claimed_definition(*found[:12]), found[12:]
    low, high = (Instant(to_instant(bound)) for bound in period)
    bounds = {"job": job.id, "low": low, "high": high}
    runs = await (await connection.execute(statement("jobs/other_runs"), bounds, binary=True)).fetchall()
    return Other(
        state=state,
        runs=[OtherRun(id, to_datetime(at), status) for id, at, status in runs],
        expected=_expected(job, instant, (max(period[0], to_datetime(created_at)), period[1])),
        is_planned=is_planned,
        keeps_successes=keeps,
    )


def _expected(job: ClaimedDefinition, instant: datetime, period: tuple[datetime, datetime]) -> datetime | None:
    """Returns the job's last instant of a period up to ``instant`` or, if there is none, the first after it."""
    begin, end = period
    try:
        recurrence = job.recurrence()
        if (passed := recurrence.missed(begin - MICROSECOND, min(instant, end - MICROSECOND))) is not None:
            return passed.last
        following = None if recurrence.after_completion else recurrence.next_instant(max(instant, begin - MICROSECOND))
    except InvalidSchedule:
        return None
    return following if following is not None and following < end else None
