"""The routes for executions: list them, get one with its outcome, change or cancel it."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter
from msgspec import UNSET, Meta, UnsetType
from psycopg import AsyncConnection

from pgsched.api.entity_tags import IfMatch, IfNoneMatch, check_version, tagged, version_of_execution
from pgsched.api.parameters import (
    INSTANT,
    Actor,
    After,
    Client,
    ExecutionId,
    Host,
    Instant,
    Key,
    Labels,
    Limit,
    Noted,
    OfJob,
    Pooled,
    Sorted,
    bound,
    host_sought,
    labels_in,
    listing,
    note_in,
    page,
)
from pgsched.api.routing import acts, reads, reads_version, sets
from pgsched.api_responses import Changed, Page
from pgsched.domain.states import ExecutionStatus, each_once
from pgsched.errors import NotFound
from pgsched.store import verbs
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.filters import ExecutionFilter
from pgsched.store.lookup.row_types import Execution, ExecutionDetail
from pgsched.store.schedule import calls
from pgsched.store.schedule.edits import CHANGEABLE, changes_of, edit

_HOW = "instant (RFC 3339 with an offset)"
Start = Annotated[
    str | None,
    QueryParameter(name="from", description=f"Only if scheduled_for is at or after this {_HOW}.", schema_extra=INSTANT),
]
End = Annotated[
    str | None,
    QueryParameter(name="to", description=f"Only if scheduled_for is before this {_HOW}.", schema_extra=INSTANT),
]

Statuses = Annotated[
    list[ExecutionStatus] | None,
    QueryParameter(name="status", description="Only these statuses; may be repeated."),
]


_OTHERWISE = Example(
    summary="Another payload, an hour later",
    value={"payload": {"order": 43}, "fire_at": "2026-03-01T10:00:00Z"},
)


class EditExecution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes. Omitted fields stay unchanged; null removes a field. ``payload``, ``options`` and ``labels`` are
    each replaced as a whole."""

    target: str | UnsetType = UNSET
    payload: msgspec.Raw | UnsetType = UNSET
    options: dict[str, Any] | UnsetType | None = UNSET
    labels: dict[str, str] | UnsetType | None = UNSET
    fire_at: Instant | UnsetType = UNSET
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None

    def changes(self) -> str:
        given = {name: getattr(self, name) for name in CHANGEABLE}
        return changes_of({name: value for name, value in given.items() if value is not UNSET})


@reads("/executions", "List executions")
async def list_executions(
    database: Pooled,
    client: Client = None,
    statuses: Statuses = None,
    start: Start = None,
    end: End = None,
    queue: Annotated[str | None, QueryParameter(name="queue")] = None,
    host: Host = None,
    key: Key = None,
    job: OfJob = None,
    label: Labels = None,
    sort: Sorted = "newest",
    limit: Limit = 50,
    after: After = None,
) -> Page[Execution]:
    """Returns one page of waiting, running and finished executions; pass ``next`` as ``after`` for the next page."""
    wanted = ExecutionFilter(
        client=client,
        statuses=each_once(statuses or ()),
        queue=queue,
        host=host_sought(host),
        key=key,
        job=job,
        start=bound("from", start),
        end=bound("to", end),
        labels=labels_in(label),
    )
    async with database.page() as connection:
        return page(await executions_and_jobs.list_executions(connection, wanted, **listing(limit, after, sort)))


@reads_version("/executions/{execution_id:str}", "Get an execution with its failed attempts", 404)
async def get_execution(
    execution_id: ExecutionId, database: Pooled, if_none_match: IfNoneMatch = None
) -> Response[ExecutionDetail]:
    """The response's ETag is the version to send to PATCH as If-Match."""
    async with database.connection() as connection:
        return await _in_detail(connection, execution_id, if_none_match)


@sets("/executions/{execution_id:str}", "Change a waiting execution", 404, 409, 412, scope="schedule")
async def edit_execution(
    execution_id: ExecutionId,
    data: Annotated[EditExecution, Body(examples=[_OTHERWISE])],
    database: Pooled,
    actor: Actor,
    if_match: IfMatch = None,
) -> Response[ExecutionDetail]:
    """A one-shot can be changed until it starts. While it waits for a retry, only its ``fire_at`` can be changed. With
    If-Match, the execution is changed only if its version is still the one that was read."""
    changes = data.changes()
    async with database.connection() as connection, connection.transaction():
        if if_match is not None:
            await edit(connection, execution_id, "{}")  # locks the row
            check_version(
                if_match, version_of_execution(await executions_and_jobs.get_execution(connection, execution_id))
            )
        await edit(connection, execution_id, changes, note=data.note, actor=actor)
        return await _in_detail(connection, execution_id)


@acts("/executions/{execution_id:str}/cancel", "Cancel an execution", 404, 409, scope="schedule")
async def cancel_execution(execution_id: ExecutionId, database: Pooled, actor: Actor, data: Noted = None) -> Changed:
    """If the execution is running, its worker aborts the call, and the result is ignored. A finished execution stays
    unchanged."""
    async with database.connection() as connection:
        if await calls.is_job(connection, execution_id):
            raise NotFound(f"{execution_id} is a job: use DELETE /v1/jobs/{execution_id}")
        changed = await verbs.cancel(connection, execution_id, note=note_in(data), actor=actor)
    return Changed(id=execution_id, changed=changed)


async def _in_detail(
    connection: AsyncConnection[Any], id: UUID, unless: str | None = None
) -> Response[ExecutionDetail]:
    """The execution with its ETag, or 304 if ``unless`` contains that ETag."""
    found = await executions_and_jobs.execution_detail(connection, id)
    return tagged(found, version_of_execution(found), unless)
