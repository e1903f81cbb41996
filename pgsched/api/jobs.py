"""The routes for recurring jobs: get, trigger, change and cancel them, and preview when they fire."""

import asyncio
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType
from psycopg import AsyncConnection

from pgsched.api.entity_tags import IfMatch, IfNoneMatch, check_version, tagged, version_of_job
from pgsched.api.parameters import (
    Actor,
    After,
    Client,
    Duration,
    Forced,
    Host,
    Instant,
    JobId,
    Key,
    Labels,
    Limit,
    Pooled,
    Sorted,
    Why,
    cursor,
    host_sought,
    labels_in,
    listing,
    page,
)
from pgsched.api.pausing import pausable
from pgsched.api.routing import acts, made_at, makes, reads, reads_version, removes, sets
from pgsched.api_responses import Changed, Job, JobDetail, Page, Preview, Triggered, job_detail, job_of
from pgsched.domain.preview import preview
from pgsched.domain.schedule import instant_of
from pgsched.domain.start_jitter import identity_of
from pgsched.domain.states import JobState
from pgsched.errors import InvalidSchedule
from pgsched.store import verbs
from pgsched.store.jobs import edits
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.executions_and_jobs import planned_instant
from pgsched.store.lookup.filters import ExecutionFilter, JobFilter
from pgsched.store.lookup.row_types import MOST_OUTCOMES, USUALLY, EditPreview, Execution, JobRow

LastOutcomes = Annotated[
    int,
    QueryParameter(
        name="last_outcomes", ge=0, le=MOST_OUTCOMES, description="Number of latest outcomes to return for each job."
    ),
]
OfState = Annotated[JobState | None, QueryParameter(name="state", description="The job's state.")]
_LATER = Example(
    summary="An hour later, and not on holidays",
    value={"schedule": {"cron": "30 3 * * *"}, "rules": {"exclude": ["2026-12-25"]}},
)
Count = Annotated[int, Meta(ge=1, le=100, description="Number of instants.")]


class Retiming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Omitted fields stay unchanged; null restores the default. ``cron`` replaces ``every``, and vice versa."""

    cron: Annotated[str, Meta(description="Five fields, six with seconds first, or a nickname.")] | UnsetType = UNSET
    every: Duration | UnsetType = UNSET
    timezone: str | UnsetType | None = UNSET
    gap: Annotated[str, Meta(description="shift or skip.")] | UnsetType | None = UNSET
    overlap: Annotated[str, Meta(description="first, second or both.")] | UnsetType | None = UNSET
    anchor: (
        Annotated[str, Meta(description="The instant, with an offset, from which intervals are counted.")]
        | UnsetType
        | None
    ) = UNSET


class EditJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes. Omitted fields stay unchanged; null removes a field. ``payload``, ``options``, ``rules`` and
    ``labels`` are each replaced as a whole.
    """

    target: str | UnsetType = UNSET
    schedule: Retiming | UnsetType = UNSET
    payload: msgspec.Raw | UnsetType = UNSET
    options: dict[str, Any] | UnsetType | None = UNSET
    rules: dict[str, Any] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    queue: Annotated[str, Meta(min_length=1, max_length=63)] | UnsetType = UNSET
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType | None = UNSET

    def changes(self) -> dict[str, Any]:
        """The changes, keyed by the parameter names of ``pgsched.edit``."""
        names = (name for name in EditJob.__struct_fields__ if name != "schedule")
        given = {name: getattr(self, name) for name in names}
        if not isinstance(self.schedule, UnsetType):
            given |= {name: getattr(self.schedule, name) for name in Retiming.__struct_fields__}
        return {name: value for name, value in given.items() if value is not UNSET}


class PreviewEdit(EditJob, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An edit, and how many of the instants after ``from`` to show. ``from`` defaults to now."""

    count: Count = 5
    start: Instant | None = msgspec.field(name="from", default=None)


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule: exactly one of ``fire_at``, ``cron`` and ``every``."""

    fire_at: Instant | None = None
    cron: str | None = None
    timezone: str | None = None
    gap: str | None = None
    overlap: str | None = None
    every: Duration | None = None


class PreviewSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule that does not belong to a job yet. If ``cron`` contains ``H``, give the ``client`` and ``key`` of the
    intended job, because the instants depend on them."""

    schedule: Spec
    rules: dict[str, Any] | None = None
    client: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    count: Count = 5
    start: Instant | None = msgspec.field(name="from", default=None)


@reads("/jobs", "List jobs")
async def list_jobs(
    database: Pooled,
    client: Client = None,
    job_state: OfState = None,
    key: Key = None,
    host: Host = None,
    label: Labels = None,
    last_outcomes: LastOutcomes = 0,
    sort: Sorted = "newest",
    limit: Limit = 50,
    after: After = None,
) -> Page[Job]:
    """Returns one page; pass ``next`` as ``after`` for the next page."""
    wanted = JobFilter(client=client, state=job_state, key=key, host=host_sought(host), labels=labels_in(label))
    async with database.page() as connection:
        found = await executions_and_jobs.list_jobs(connection, wanted, **listing(limit, after, sort))
        last = await executions_and_jobs.last_outcomes(connection, [row.id for row in found.items], last_outcomes)
    return Page(items=[job_of(row, last.get(row.id)) for row in found.items], next=cursor(found.next))


@reads_version("/jobs/{job_id:str}", "Get a job and when it fires next", 404)
async def get_job(job_id: JobId, database: Pooled, if_none_match: IfNoneMatch = None) -> Response[JobDetail]:
    """The response's ETag is the version to send to PATCH as If-Match."""
    async with database.connection() as connection:
        return await _in_detail(connection, job_id, if_none_match)


@removes("/jobs/{job_id:str}", "Cancel a job or an execution", 404, 409, scope="schedule")
async def cancel_job(job_id: JobId, database: Pooled, actor: Actor, note: Why = None) -> Changed:
    """After a job is cancelled, no further executions are planned, but a running one continues."""
    return Changed(id=job_id, changed=await database.ask(verbs.cancel, job_id, note=note, actor=actor))


pause, resume = pausable(
    "job",
    "/jobs/{job_id:str}",
    JobId,
    Changed,
    404,
    409,
    pauses="No further executions are planned until the job is resumed; running ones continue.",
    resumes="The job continues from its next instant; instants missed during the pause do not fire.",
    suffix="",
    scope="operate",
)


@makes("/jobs/{job_id:str}/trigger", "Run a job now, in addition to its schedule", 404, 409, 429, scope="operate")
async def trigger(job_id: JobId, database: Pooled, actor: Actor) -> Response[Triggered]:
    """A paused or finished job can also be triggered. Each call creates another execution."""
    execution_id = await database.ask(verbs.trigger, job_id, actor=actor)
    return made_at(f"/v1/executions/{execution_id}", Triggered(id=execution_id, job_id=job_id))


@reads("/jobs/{job_id:str}/executions", "List a job's executions", 404)
async def job_executions(
    job_id: JobId, database: Pooled, sort: Sorted = "newest", limit: Limit = 50, after: After = None
) -> Page[Execution]:
    async with database.page() as connection:
        await executions_and_jobs.get_job(connection, job_id)
        wanted = ExecutionFilter(job=job_id)
        return page(await executions_and_jobs.list_executions(connection, wanted, **listing(limit, after, sort)))


@sets("/jobs/{job_id:str}", "Change a job", 404, 409, 412, scope="schedule")
async def edit_job(
    job_id: JobId,
    data: Annotated[EditJob, Body(examples=[_LATER])],
    database: Pooled,
    actor: Actor,
    force: Forced = False,
    if_match: IfMatch = None,
) -> Response[JobDetail]:
    """The job's waiting execution changes at once; an execution that a worker has already claimed runs unchanged. A
    paused job stays paused. A job declared by an application or a file can be changed only with ``force``, because the
    next apply reverts the change. With If-Match, the job is changed only if its version is still the one that was
    read."""
    changes = edits.changes_of(data.changes())
    async with database.connection() as connection, connection.transaction():
        version = await edits.locked_version(connection, job_id)
        if version is not None:
            check_version(if_match, version_of_job(version))
        await edits.edit_job(connection, job_id, changes, actor=actor, force=force)
        return await _in_detail(connection, job_id)


@acts("/jobs/{job_id:str}/preview", "Preview an edit of a job", 404, 409, scope="read")
async def preview_edit(job_id: JobId, data: JSONBody[PreviewEdit], database: Pooled) -> EditPreview:
    """The request takes the same body as PATCH, and changes nothing. A paused job is shown as if it were not paused."""
    changes = edits.changes_of(data.changes())
    start = _start(data.start)
    async with database.computing():
        return await database.ask(edits.preview_job, job_id, changes, start=start, count=data.count)


@acts("/preview", "Preview a schedule", scope="read")
async def preview_spec(data: JSONBody[PreviewSpec], database: Pooled) -> Preview:
    """The schedule need not belong to a job. Nothing is changed."""
    start = _start(data.start)
    if start is None:
        start = await database.ask(verbs.now)
    asked = data.schedule
    async with database.computing():
        fires = await asyncio.to_thread(
            preview,
            after=start,
            count=data.count,
            fire_at=asked.fire_at,
            cron=asked.cron,
            every=asked.every,
            timezone=asked.timezone,
            gap=asked.gap,
            overlap=asked.overlap,
            identity=None if data.key is None else identity_of(data.client or "default", data.key, None),
            rules=data.rules,
        )
    return Preview(next=fires)


async def _in_detail(connection: AsyncConnection[Any], job_id: UUID, unless: str | None = None) -> Response[JobDetail]:
    """The job with its ETag, or 304 if ``unless`` contains that ETag."""
    row = await executions_and_jobs.get_job(connection, job_id)
    last = await executions_and_jobs.last_outcomes(connection, [job_id], USUALLY)
    detail = job_detail(row, await next_instant(connection, row), executions_and_jobs.usual_duration(last[job_id]))
    return tagged(detail, version_of_job(row.updated_at), unless)


async def next_instant(connection: AsyncConnection[Any], job: JobRow) -> datetime | None:
    """Returns the instant at which a job fires next, or None if the job is not active."""
    return next(iter(await next_instants(connection, job, 1)), None)


async def next_instants(connection: AsyncConnection[Any], job: JobRow, count: int) -> list[datetime]:
    """Returns up to ``count`` of a job's next instants, or an empty list if the job is not active."""
    if job.state != "active":
        return []
    planned, now = await planned_instant(connection, job.id)
    try:
        following = await asyncio.to_thread(lambda: job.recurrence().instants(planned or now, count))
    except InvalidSchedule:  # inserted by SQL a moment ago; a planner will mark the job invalid
        return []
    fires = following if planned is None else [planned, *following]
    return fires[: job.runs_left(count)]


def _start(given: str | None) -> datetime | None:
    return None if given is None else instant_of(given, "from")
