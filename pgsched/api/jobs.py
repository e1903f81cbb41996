"""The recurring jobs: look them up, pause, resume, trigger and cancel them, one by one or by client and labels."""

from typing import Annotated, Any, Literal
from uuid import UUID

from litestar import Response, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter
from psycopg import AsyncConnection

from pgsched.api.answers import (
    Changed,
    ChangedMany,
    ExecutionPage,
    JobDetail,
    JobPage,
    Triggered,
    cursor,
    job,
    job_detail,
    position,
    problems,
)
from pgsched.api.creation import next_fires
from pgsched.api.database import Pooled
from pgsched.api.problems import Fault, Unreadable
from pgsched.api.requests import ApiRequest, Note
from pgsched.errors import NotFound
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import ExecutionFilter, JobFilter, JobRow
from pgsched.store.schedule import calls
from pgsched.store.schedule.order import check_text

JobId = Annotated[UUID, PathParameter(description="A job's id.")]
Limit = Annotated[int, QueryParameter(name="limit", ge=1, le=500, description="Items a page.")]
After = Annotated[str | None, QueryParameter(name="after", max_length=100, description="next of the page before.")]
Client = Annotated[str | None, QueryParameter(name="client")]
Key = Annotated[str | None, QueryParameter(name="key")]
Labels = Annotated[
    list[str] | None,
    QueryParameter(name="label", description="NAME=TEXT, such as team=payments; repeated, jobs with all of them."),
]
Why = Annotated[str | None, QueryParameter(name="note", max_length=1000, description="Why, for the audit log.")]
JobState = Annotated[
    Literal["active", "paused", "invalid", "cancelled", "finished"] | None,
    QueryParameter(name="state", description="The job's state."),
]


@get("/jobs", summary="List jobs, the newest first", responses=problems(400))
async def list_jobs(
    database: Pooled,
    client: Client = None,
    job_state: JobState = None,
    key: Key = None,
    label: Labels = None,
    limit: Limit = 50,
    after: After = None,
) -> JobPage:
    """One page; the next one is asked for with after."""
    wanted = JobFilter(client=client, state=job_state, key=key, labels=_labels(label))
    async with database.page() as connection:
        page = await listings.list_jobs(connection, wanted, limit=limit, after=position(after))
    return JobPage(items=[job(row) for row in page.items], next=cursor(page.next))


@get("/jobs/{job_id:str}", summary="One job and when it fires next", responses=problems(400, 404))
async def get_job(job_id: JobId, database: Pooled) -> JobDetail:
    async with database.connection() as connection:
        row = await found_job(connection, job_id)
        return job_detail(row, await next_fires(connection, row))


@delete(
    "/jobs/{job_id:str}",
    status_code=200,
    summary="Cancel a job, or an execution that waits",
    responses=problems(400, 404, 409),
)
async def cancel_job(request: ApiRequest, job_id: JobId, database: Pooled, note: Why = None) -> Changed:
    """What is running goes on; nothing more is planned."""
    async with database.connection() as connection:
        changed = await calls.cancel(connection, job_id, note=note, actor=actor(request))
    return Changed(id=job_id, changed=changed)


@post("/jobs/{job_id:str}/pause", status_code=200, summary="Pause a job", responses=problems(400, 404, 409, 415))
async def pause(request: ApiRequest, job_id: JobId, database: Pooled, data: JSONBody[Note | None] = None) -> Changed:
    """Nothing more is planned until it is resumed; what is running goes on."""
    async with database.connection() as connection:
        changed = await calls.pause(connection, job_id, note=_note(data), actor=actor(request))
    return Changed(id=job_id, changed=changed)


@post(
    "/jobs/{job_id:str}/resume", status_code=200, summary="Resume a paused job", responses=problems(400, 404, 409, 415)
)
async def resume(request: ApiRequest, job_id: JobId, database: Pooled, data: JSONBody[Note | None] = None) -> Changed:
    """It goes on from its next instant; those that passed in the pause are not made up for."""
    async with database.connection() as connection:
        changed = await calls.resume(connection, job_id, note=_note(data), actor=actor(request))
    return Changed(id=job_id, changed=changed)


@post(
    "/jobs/pause",
    status_code=200,
    summary="Pause the jobs of a client, or with labels",
    responses=problems(400, 415, 422),
)
async def pause_all(
    request: ApiRequest,
    database: Pooled,
    data: JSONBody[Note | None] = None,
    client: Client = None,
    label: Labels = None,
) -> ChangedMany:
    """All active ones. At least one of client and label must be given."""
    return await _change_all(request, database, "pause", JobFilter(client=client, labels=_labels(label)), _note(data))


@post(
    "/jobs/resume",
    status_code=200,
    summary="Resume the jobs of a client, or with labels",
    responses=problems(400, 415, 422),
)
async def resume_all(
    request: ApiRequest,
    database: Pooled,
    data: JSONBody[Note | None] = None,
    client: Client = None,
    label: Labels = None,
) -> ChangedMany:
    """All paused ones. At least one of client and label must be given."""
    return await _change_all(request, database, "resume", JobFilter(client=client, labels=_labels(label)), _note(data))


@delete("/jobs", status_code=200, summary="Cancel the jobs of a client, or with labels", responses=problems(400, 422))
async def cancel_all(
    request: ApiRequest, database: Pooled, client: Client = None, label: Labels = None, note: Why = None
) -> ChangedMany:
    """All that are not cancelled. At least one of client and label must be given. With a client and no label, what
    else of it waits is cancelled too, 10,000 executions a call.
    """
    return await _change_all(request, database, "cancel", JobFilter(client=client, labels=_labels(label)), note)


@post(
    "/jobs/{job_id:str}/trigger",
    summary="Run a job now, besides its schedule",
    responses=problems(400, 404, 409, 429),
)
async def trigger(request: ApiRequest, job_id: JobId, database: Pooled) -> Response[Triggered]:
    """Also while it is paused, or finished. Each call is one more execution."""
    async with database.connection() as connection:
        execution_id = await calls.trigger(connection, job_id, actor=actor(request))
    answer = Triggered(id=execution_id, job_id=job_id)
    return Response(answer, headers={"Location": f"/v1/executions/{execution_id}"})


@get("/jobs/{job_id:str}/executions", summary="The executions of a job, the newest first", responses=problems(400, 404))
async def job_executions(job_id: JobId, database: Pooled, limit: Limit = 50, after: After = None) -> ExecutionPage:
    async with database.page() as connection:
        await found_job(connection, job_id)
        page = await listings.list_executions(
            connection, ExecutionFilter(job=job_id), limit=limit, after=position(after)
        )
    return ExecutionPage(items=page.items, next=cursor(page.next))


async def _change_all(
    request: ApiRequest, database: Pooled, verb: calls.Verb, wanted: JobFilter, note: str | None
) -> ChangedMany:
    async with database.connection() as connection:
        changed = await calls.change_all(connection, verb, wanted, note=note, actor=actor(request))
    return ChangedMany(changed=changed)


def actor(request: ApiRequest) -> str:
    """Who did it, for the audit log: there is no authentication, so the address it came from."""
    return f"api {request.client.host}" if request.client else "api"


def _note(data: Note | None) -> str | None:
    note = data.note if data else None
    check_text("note", note)
    return note


def _labels(given: list[str] | None) -> dict[str, str] | None:
    """``NAME=TEXT``, each. Raises Unreadable."""
    found = dict[str, str]()
    for item in given or ():
        name, equals, text = item.partition("=")
        detail = "write NAME=TEXT, such as label=team=payments" if not (name and equals) else None
        if name in found:
            detail = f"{name[:80]} is given twice, and a job has it once: give it once"
        if detail:
            raise Unreadable(f"label: {detail}", faults=[Fault(parameter="label", detail=detail)])
        found[name] = text
    return found or None


async def found_job(connection: AsyncConnection[Any], job_id: UUID) -> JobRow:
    row = await listings.get_job(connection, job_id)
    if row is None:
        raise NotFound(f"there is no job {job_id}; look it up in /v1/jobs, one-shots in /v1/executions")
    return row
