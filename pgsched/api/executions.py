"""The executions: those that wait, run or have ended, with their outcomes."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Response
from litestar.params import QueryParameter
from psycopg import AsyncConnection

from pgsched.api.labels import Labels, labels_in
from pgsched.api.paging import page, position
from pgsched.api.parameters import (
    INSTANT,
    Actor,
    After,
    Client,
    ExecutionId,
    Host,
    Key,
    Limit,
    Noted,
    OfJob,
    Pooled,
    Sorted,
    host_sought,
    note_in,
    with_its_plus,
)
from pgsched.api.problems import Fault, Unreadable
from pgsched.api.routing import acts, reads, reads_version
from pgsched.api.versions import IfNoneMatch, tagged, version_of_execution
from pgsched.domain.schedule import instant_of
from pgsched.domain.states import ExecutionStatus, each_once
from pgsched.errors import InvalidSchedule, NotFound
from pgsched.responses import Changed, ExecutionDetail, Page, with_attempts
from pgsched.store import verbs
from pgsched.store.ends import dependencies
from pgsched.store.lookup import listings
from pgsched.store.lookup.clauses import SortOrder
from pgsched.store.lookup.rows import Execution, ExecutionFilter
from pgsched.store.schedule import calls

_HOW = "scheduled_for, RFC 3339 with an offset"
Start = Annotated[
    str | None, QueryParameter(name="from", description=f"At or after this {_HOW}.", schema_extra=INSTANT)
]
End = Annotated[str | None, QueryParameter(name="to", description=f"Before this {_HOW}.", schema_extra=INSTANT)]

Statuses = Annotated[
    list[ExecutionStatus] | None,
    QueryParameter(name="status", description="Repeated, those with any of them."),
]


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
    """Returns one page of waiting, running and finished executions; pass next as after for the next page."""
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
    how: Any = {"limit": limit, "after": position(after), "order": SortOrder(sort)}
    async with database.page() as connection:
        return page(await listings.list_executions(connection, wanted, **how))


@reads_version("/executions/{execution_id:str}", "Get an execution with its failed attempts", 404)
async def get_execution(
    execution_id: ExecutionId, database: Pooled, if_none_match: IfNoneMatch = None
) -> Response[ExecutionDetail]:
    """The ETag is the version to send to PATCH as If-Match."""
    async with database.connection() as connection:
        found = await listings.get_execution(connection, execution_id)
        if found is None:
            raise NotFound(f"there is no execution {execution_id}; look it up in /v1/executions, jobs in /v1/jobs")
        return await in_detail(connection, found, if_none_match)


@acts("/executions/{execution_id:str}/cancel", "Cancel an execution", 404, 409, scope="schedule")
async def cancel_execution(execution_id: ExecutionId, database: Pooled, actor: Actor, data: Noted = None) -> Changed:
    """If it is running, its worker aborts the call, and its result does not count. A finished one stays as it is."""
    async with database.connection() as connection:
        if await calls.is_job(connection, execution_id):
            raise NotFound(f"{execution_id} is a job: DELETE /v1/jobs/{execution_id}")
        changed = await verbs.cancel(connection, execution_id, note=note_in(data), actor=actor)
    return Changed(id=execution_id, changed=changed)


async def in_detail(
    connection: AsyncConnection[Any], row: Execution, unless: str | None = None
) -> Response[ExecutionDetail]:
    """An execution with all that is shown of one, and the tag of its version; 304 to whom it is known."""
    attempts = await listings.attempts_of(connection, row.id)
    waits_for = await dependencies.waits_for(connection, row.id)
    progress = await listings.progress_of(connection, row)
    found = with_attempts(ExecutionDetail, row, attempts=attempts, waits_for=waits_for, progress=progress)
    return tagged(found, version_of_execution(row), unless)


def bound(name: str, text: str | None) -> datetime | None:
    """A bound in the query string, where a + has become a space."""
    if text is None:
        return None
    try:
        return instant_of(with_its_plus(text), name)
    except InvalidSchedule as error:
        raise Unreadable(str(error), faults=[Fault(parameter=name, detail=str(error))]) from None
