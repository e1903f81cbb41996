"""The recurring jobs: look them up, pause, resume, trigger and cancel them."""

from typing import Annotated, Any
from uuid import UUID

from litestar import Response
from litestar.params import QueryParameter
from psycopg import AsyncConnection

from pgsched.api.creation import next_instant
from pgsched.api.labels import Labels, labels_in
from pgsched.api.paging import cursor, page, position
from pgsched.api.parameters import (
    Actor,
    After,
    Client,
    Host,
    JobId,
    Key,
    Limit,
    Noted,
    Pooled,
    Sorted,
    Why,
    host_sought,
    note_in,
)
from pgsched.api.routing import acts, made_at, makes, reads, reads_version, removes
from pgsched.api.versions import IfNoneMatch, tagged, version_of_job
from pgsched.domain.states import JobState
from pgsched.errors import NotFound
from pgsched.responses import Changed, Job, JobDetail, Page, Triggered, job_detail, job_of, jobs_of
from pgsched.store import verbs
from pgsched.store.lookup import listings
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.rows import MOST_OUTCOMES, Execution, ExecutionFilter, JobFilter, JobRow

LastOutcomes = Annotated[
    int,
    QueryParameter(
        name="last_outcomes", ge=0, le=MOST_OUTCOMES, description="So many of the last outcomes with each job."
    ),
]
OfState = Annotated[JobState | None, QueryParameter(name="state", description="The job's state.")]


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
    """Returns one page; pass next as after for the next page."""
    wanted = JobFilter(client=client, state=job_state, key=key, host=host_sought(host), labels=labels_in(label))
    async with database.page() as connection:
        how: Any = {"limit": limit, "after": position(after), "order": SortOrder(sort)}
        found = await listings.list_jobs(connection, wanted, **how)
        last = await listings.last_outcomes(connection, [row.id for row in found.items], last_outcomes)
    items = jobs_of(found.items, last) if last_outcomes else [job_of(row) for row in found.items]
    return Page(items=items, next=cursor(found.next))


@reads_version("/jobs/{job_id:str}", "Get a job and its next instant", 404)
async def get_job(job_id: JobId, database: Pooled, if_none_match: IfNoneMatch = None) -> Response[JobDetail]:
    """The ETag is the version to send to PATCH as If-Match."""
    async with database.connection() as connection:
        row = await found_job(connection, job_id)
        return tagged(
            job_detail(row, await next_instant(connection, row)), version_of_job(row.updated_at), if_none_match
        )


@removes("/jobs/{job_id:str}", "Cancel a job or an execution", 404, 409, scope="schedule")
async def cancel_job(job_id: JobId, database: Pooled, actor: Actor, note: Why = None) -> Changed:
    """A running execution continues; nothing more is planned."""
    return Changed(id=job_id, changed=await database.ask(verbs.cancel, job_id, note=note, actor=actor))


@acts("/jobs/{job_id:str}/pause", "Pause a job", 404, 409, scope="operate")
async def pause(job_id: JobId, database: Pooled, actor: Actor, data: Noted = None) -> Changed:
    """Nothing more is planned until it is resumed; what runs continues."""
    changed = await database.ask(verbs.pause, "job", str(job_id), note=note_in(data), actor=actor)
    return Changed(id=job_id, changed=changed)


@acts("/jobs/{job_id:str}/resume", "Resume a paused job", 404, 409, scope="operate")
async def resume(job_id: JobId, database: Pooled, actor: Actor, data: Noted = None) -> Changed:
    """Continues from the next instant; instants that passed during the pause are not made up."""
    changed = await database.ask(verbs.resume, "job", str(job_id), note=note_in(data), actor=actor)
    return Changed(id=job_id, changed=changed)


@makes("/jobs/{job_id:str}/trigger", "Run a job now, in addition to its schedule", 404, 409, 429, scope="operate")
async def trigger(job_id: JobId, database: Pooled, actor: Actor) -> Response[Triggered]:
    """Works while it is paused or finished, too. Each call is one more execution."""
    execution_id = await database.ask(verbs.trigger, job_id, actor=actor)
    return made_at(f"/v1/executions/{execution_id}", Triggered(id=execution_id, job_id=job_id))


@reads("/jobs/{job_id:str}/executions", "List a job's executions", 404)
async def job_executions(
    job_id: JobId, database: Pooled, sort: Sorted = "newest", limit: Limit = 50, after: After = None
) -> Page[Execution]:
    async with database.page() as connection:
        await found_job(connection, job_id)
        wanted = ExecutionFilter(job=job_id)
        how: Any = {"limit": limit, "after": position(after), "order": SortOrder(sort)}
        return page(await listings.list_executions(connection, wanted, **how))


async def found_job(connection: AsyncConnection[Any], job_id: UUID) -> JobRow:
    row = await listings.get_job(connection, job_id)
    if row is None:
        raise NotFound(f"there is no job {job_id}; look it up in /v1/jobs, one-shots in /v1/executions")
    return row
