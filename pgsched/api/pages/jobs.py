"""*Jobs*: lists jobs by filters, shows one with its next instants and last outcomes, and shows the week of all jobs.
Pauses, resumes, runs, cancels and edits a job."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from litestar import Response
from psycopg import AsyncConnection

from pgsched.api.entity_tags import version_of_job
from pgsched.api.jobs import next_instants
from pgsched.api.pages.charts import Bar, bars
from pgsched.api.pages.forms import Text, filled, filter_of, instant_in, link_to, place, sent
from pgsched.api.pages.gate_descriptions import words_of
from pgsched.api.pages.payload_display import as_fields, content, edited, without_secrets
from pgsched.api.pages.rendering import html
from pgsched.api.pages.routing import check_unchanged, does, done, shows
from pgsched.api.pages.verb_forms import changes, does_to
from pgsched.api.pages.week import Day, days_of, week_of
from pgsched.api.parameters import Actor, JobId, Pooled, cursor, position
from pgsched.api.request_reading import ApiRequest
from pgsched.api_responses import job_of
from pgsched.domain.duration import format_duration
from pgsched.domain.states import JOB_STATES
from pgsched.errors import InvalidInput, InvalidSchedule, PgschedError
from pgsched.store import verbs
from pgsched.store.jobs import edits
from pgsched.store.lookup import bulk_pages, executions_and_jobs
from pgsched.store.lookup.filters import ExecutionFilter, JobFilter
from pgsched.store.lookup.row_types import MOST_OUTCOMES, USUALLY, EditPreview, JobRow, LastOutcome

_SHOWN = 10
"""The number of instants in each half of a preview: without the edit, and with the edit."""
_FIELDS = ("client", "key", "job_state", "host", "label")
_RUNS, _BACKFILLS, _COMING = 20, 5, 5
_IN_A_WEEK = 5_000
"""The maximum number of jobs whose week is computed at once."""
_LONGEST = 0.1  # seconds for computing the week


@shows("/jobs", scope="read")
async def show_jobs(request: ApiRequest, database: Pooled, after: Text = None) -> Response[Any]:
    asked = filled(request.query_params, _FIELDS)
    wanted = _filter(asked, asked.get("job_state"))
    async with database.page() as connection:
        found = await executions_and_jobs.list_jobs(connection, wanted, limit=50, after=position(after or None))
        last = await executions_and_jobs.last_outcomes(connection, [row.id for row in found.items], MOST_OUTCOMES)
        now = await verbs.now(connection)
    return html(
        request,
        "jobs.html",
        jobs=[job_of(row, last[row.id]) for row in found.items],
        fires=await asyncio.to_thread(_next_of, found.items, now),
        asked=asked,
        states=JOB_STATES,
        **place(request, after, cursor(found.next)),
    )


@shows("/jobs/week", scope="read")
async def show_week(request: ApiRequest, database: Pooled, hour: Text = None, after: Text = None) -> Response[Any]:
    """Shows the week of as many jobs as can be computed within the time limit. The next page shows further jobs."""
    asked, chosen = filled(request.query_params, ("client", "key", "host", "label")), instant_in("hour", hour)
    wanted = _filter(asked, "active")
    async with database.page() as connection:
        found = await executions_and_jobs.list_definitions(
            connection, wanted, limit=_IN_A_WEEK, after=position(after or None)
        )
        now = await verbs.now(connection)
    week = await asyncio.to_thread(week_of, found.items, now, chosen, within=_LONGEST)
    return html(
        request,
        "week.html",
        week=week,
        asked=asked,
        hour=chosen,
        leads_to=lambda at: link_to(request, hour=f"{at:%Y-%m-%dT%H:%M}"),
        again=link_to(request),
        **place(request, after, cursor(week.after or found.next)),
    )


@shows("/jobs/{job_id:uuid}", scope="read")
async def show_job(request: ApiRequest, job_id: JobId, database: Pooled) -> Response[Any]:
    async with database.connection() as connection:
        row = await executions_and_jobs.get_job(connection, job_id)
        fires = await next_instants(connection, row, _COMING)
        runs = await executions_and_jobs.list_executions(
            connection, ExecutionFilter(job=job_id), limit=_RUNS, contents=False
        )
        last = (await executions_and_jobs.last_outcomes(connection, [job_id], USUALLY))[job_id]
        filled = await bulk_pages.list_operations(connection, action="backfill", job=job_id, limit=_BACKFILLS)
        now = await verbs.now(connection)
    shown = {"payload": row.payload, "options": without_secrets(row.options), "rules": row.rules, "labels": row.labels}
    return html(
        request,
        "job.html",
        job=job_of(row, last[:MOST_OUTCOMES]),
        usual=executions_and_jobs.usual_duration(last),
        took=_took(last),
        fires=fires,
        days=await asyncio.to_thread(_days, row, now),
        exceptions=[at for at in row.exceptions or () if at > now],
        rows=runs.items,
        words_of=words_of,
        backfills=filled,
        parts_of={name: None if value is None else content(value) for name, value in shown.items()},
    )


def _took(outcomes: Sequence[LastOutcome]) -> list[Bar]:
    """A bar for the length of each successful run, earliest first."""
    lengths = executions_and_jobs.durations(reversed(outcomes))
    return bars([round(length.total_seconds() * 1000) for length in lengths], above=None)


cancel_job_of_page = does_to(verbs.cancel, "/jobs/{job_id:uuid}/cancel", "cancel", scope="schedule")
run_job_now = does_to(verbs.trigger, "/jobs/{job_id:uuid}/trigger", "trigger", scope="operate")
_PAUSING: Any = {"field": "job_id", "page": "/jobs/{job_id}", "scope": "operate"}
pause_job = changes(verbs.pause, "job", "/jobs/{job_id:uuid}/pause", "pause", **_PAUSING)
resume_job = changes(verbs.resume, "job", "/jobs/{job_id:uuid}/resume", "resume", **_PAUSING)


@shows("/jobs/{job_id:uuid}/edit", scope="schedule", form=True)
async def show_job_edit(request: ApiRequest, job_id: JobId, database: Pooled) -> Response[Any]:
    row = await database.ask(executions_and_jobs.get_job, job_id)
    return _form(request, row, _as_fields(row), version_of_job(row.updated_at))


@does("/jobs/{job_id:uuid}/edit", scope="schedule")
async def edit_job_by_form(request: ApiRequest, job_id: JobId, database: Pooled, actor: Actor) -> Response[Any]:
    """Previews or saves an edit, depending on the button. Saves nothing if the job has changed since the form was
    loaded."""
    form = await sent(request)
    row = await database.ask(executions_and_jobs.get_job, job_id)
    version = form.get("version", "")
    given = {name: form.get(name, "") for name in _as_fields(row) if name in form}
    try:
        check_unchanged(version, version_of_job(row.updated_at))
        changes = _changes(row, form)
        match form.get("do"):
            case "preview":
                text = edits.changes_of(changes)
                async with database.computing():
                    shown = await database.ask(edits.preview_job, job_id, text, start=None, count=_SHOWN)
                return _form(request, row, given, version, preview=shown, changed=sorted(changes))
            case "save":
                force = form.get("force") == "on"
                changed = await database.ask(_save, job_id, changes, version, actor=actor, force=force)
                return done(f"/jobs/{job_id}", "edit", changed=changed)
    except PgschedError as error:
        return _form(request, row, given, version, fault=error)
    return _form(request, row, given, version)


async def _save(
    connection: AsyncConnection[Any], job_id: UUID, changes: dict[str, Any], version: str, *, actor: str, force: bool
) -> bool:
    async with connection.transaction():
        there = await edits.locked_version(connection, job_id)
        if there is not None:
            check_unchanged(version, version_of_job(there))
        return await edits.edit_job(connection, job_id, edits.changes_of(changes), actor=actor, force=force)


def _as_fields(row: JobRow) -> dict[str, str]:
    plain = {
        "target": row.target,
        "cron": row.cron or "",
        "every": "" if row.every is None else format_duration(row.every),
        "timezone": row.timezone,
    }
    if row.cron:
        plain |= {"gap": row.gap, "overlap": row.overlap}
    options, rules = without_secrets(row.options), row.rules
    return plain | as_fields(payload=row.payload, options=options, rules=rules, labels=row.labels)


def _changes(row: JobRow, form: Mapping[str, str]) -> dict[str, Any]:
    """Returns the changed fields, keyed by the parameter names of ``pgsched.edit``. Raises Unreadable."""
    found = edited(form, _as_fields(row), row.options)
    if found.get("cron") or found.get("every"):  # cron replaces every, and vice versa
        found = {name: value for name, value in found.items() if value or name not in {"cron", "every"}}
    return found


def _form(
    request: ApiRequest,
    row: JobRow,
    fields: dict[str, str],
    version: str,
    *,
    preview: EditPreview | None = None,
    changed: list[str] | None = None,
    fault: PgschedError | None = None,
) -> Response[Any]:
    return html(
        request,
        "job_edit.html",
        job=job_of(row),
        fields=fields,
        before=_as_fields(row),
        version=version,
        is_old=version != version_of_job(row.updated_at),
        preview=preview,
        changed=changed or [],
        fault=fault,
    )


def _filter(asked: dict[str, str], state: str | None) -> JobFilter:
    """Builds the filter for the list of jobs. Raises InvalidInput or Unreadable if a field is invalid."""
    if state not in {None, *JOB_STATES}:
        raise InvalidInput(f"there is no state {state!r}: choose one of {', '.join(JOB_STATES)}")
    return filter_of(JobFilter, {name: text for name, text in asked.items() if name != "job_state"}, state=state)


def _next_of(rows: Sequence[JobRow], now: datetime) -> dict[UUID, datetime]:
    """Computes the next instants of active jobs from their schedules. Omits jobs that have none."""
    found: dict[UUID, datetime] = {}
    for row in rows:
        try:
            if row.state == "active" and (fires := row.recurrence().instants(now, row.runs_left(1))):
                found[row.id] = fires[0]
        except InvalidSchedule:  # a planner will mark the job invalid
            continue
    return found


def _days(row: JobRow, now: datetime) -> list[Day]:
    """Computes the coming week of a job. The week is empty if the job is not active, or if its interval counts from the
    end of runs."""
    try:
        recurrence = row.recurrence() if row.state == "active" else None
    except InvalidSchedule:
        return []
    return [] if recurrence is None or recurrence.after_completion else days_of(recurrence, now)
