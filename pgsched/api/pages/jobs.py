"""*Jobs*: found by what they have, each with its next instants and how its last runs ended; and their week."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from litestar import Request, Response

from pgsched.api.jobs import next_instants
from pgsched.api.pages.content import content, without_secrets
from pgsched.api.pages.filters import filled, host_in, instant_in
from pgsched.api.pages.forms import Text, label_lines, link_to
from pgsched.api.pages.gate_words import words_of
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import shows
from pgsched.api.pages.week import Day, days_of, week_of
from pgsched.api.parameters import JobId, Pooled, cursor, labels_in, position
from pgsched.domain.states import JOB_STATES
from pgsched.errors import InvalidInput, InvalidSchedule, NotFound
from pgsched.responses import job_of, jobs_of
from pgsched.store import verbs
from pgsched.store.bulk import operations
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import MOST_OUTCOMES, ExecutionFilter, JobFilter, JobRow

_FIELDS = ("client", "key", "job_state", "host", "label")
_RUNS, _BACKFILLS, _COMING = 20, 5, 5
_IN_A_WEEK = 5_000
"""Jobs of which the week is worked out at once."""
_LONGEST = 0.1  # seconds for that


@shows("/jobs", scope="read")
async def show_jobs(request: Request[Any, Any, Any], database: Pooled, after: Text = None) -> Response[Any]:
    asked = filled(request.query_params, _FIELDS)
    wanted = _filter(asked)
    async with database.page() as connection:
        found = await listings.list_jobs(connection, wanted, limit=50, after=position(after or None))
        last = await listings.last_outcomes(connection, [row.id for row in found.items], MOST_OUTCOMES)
        now = await verbs.now(connection)
    return html(
        request,
        "jobs.html",
        jobs=jobs_of(found.items, last),
        fires=await asyncio.to_thread(_next_of, found.items, now),
        more=link_to(request, after=cursor(found.next)) if found.next else None,
        asked=asked,
        states=JOB_STATES,
        begins=not after,
    )


@shows("/jobs/week", scope="read")
async def show_week(
    request: Request[Any, Any, Any], database: Pooled, hour: Text = None, after: Text = None
) -> Response[Any]:
    """Of as many jobs as can be looked at in the time for a page; of the others on the next one."""
    asked, chosen = filled(request.query_params, ("client", "key", "host", "label")), instant_in("hour", hour)
    wanted = _filter(asked | {"job_state": "active"})
    async with database.page() as connection:
        found = await listings.list_definitions(connection, wanted, limit=_IN_A_WEEK, after=position(after or None))
        now = await verbs.now(connection)
    week = await asyncio.to_thread(week_of, found.items, now, chosen, within=_LONGEST)
    following = week.after or found.next
    return html(
        request,
        "week.html",
        week=week,
        asked=asked,
        hour=chosen,
        more=link_to(request, after=cursor(following)) if following else None,
        leads_to=lambda at: link_to(request, hour=f"{at:%Y-%m-%dT%H:%M}"),
        again=link_to(request),
        begins=not after,
    )


@shows("/jobs/{job_id:uuid}", scope="read")
async def show_job(request: Request[Any, Any, Any], job_id: JobId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await listings.get_job(connection, job_id)
        if row is None:
            raise NotFound(f"there is no job {job_id}, or it is not of a client that you may see")
        fires = await next_instants(connection, row, _COMING)
        runs = await listings.list_executions(connection, ExecutionFilter(job=job_id), limit=_RUNS, contents=False)
        last = await listings.last_outcomes(connection, [job_id], MOST_OUTCOMES)
        filled = await operations.list_operations(connection, action="backfill", job=job_id, limit=_BACKFILLS)
        now = await verbs.now(connection)
    shown = {"payload": row.payload, "options": without_secrets(row.options), "rules": row.rules, "labels": row.labels}
    return html(
        request,
        "job.html",
        job=job_of(row, last),
        fires=fires,
        days=await asyncio.to_thread(_days, row, now),
        exceptions=[at for at in row.exceptions or () if at > now],
        rows=runs.items,
        words_of=words_of,
        backfills=filled,
        parts_of={name: None if value is None else content(value) for name, value in shown.items()},
    )


def _filter(asked: dict[str, str]) -> JobFilter:
    """Raises InvalidInput, Unreadable."""
    chosen = asked.get("job_state")
    if chosen not in {None, *JOB_STATES}:
        raise InvalidInput(f"there is no state {chosen!r}: choose one of {', '.join(JOB_STATES)}")
    labels = labels_in(label_lines(asked.get("label")))
    named = {name: asked.get(name) for name in ("client", "key")}
    return JobFilter(state=chosen, labels=labels, host=host_in(asked.get("host")), **named)


def _next_of(rows: Sequence[JobRow], now: datetime) -> dict[UUID, datetime]:
    """The next instant of each active job that has one, by its schedule."""
    found: dict[UUID, datetime] = {}
    for row in rows:
        try:
            if row.state == "active" and (fires := row.recurrence().instants(now, row.runs_left(1))):
                found[row.id] = fires[0]
        except InvalidSchedule:  # the next planner marks it invalid
            continue
    return found


def _days(row: JobRow, now: datetime) -> list[Day]:
    """None of a job that is not active, or fires by the end of its runs."""
    try:
        recurrence = row.recurrence() if row.state == "active" else None
    except InvalidSchedule:
        return []
    return [] if recurrence is None or recurrence.after_completion else days_of(recurrence, now)
