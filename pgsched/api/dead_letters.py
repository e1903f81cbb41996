"""Dead letters: executions that failed for good are listed, replayed or discarded."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from litestar import Response, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.answers import Changed, DeadLetterDetail, cursor, dead_letter_detail, position, problems
from pgsched.api.database import Pooled
from pgsched.api.executions import ExecutionId, bound
from pgsched.api.jobs import After, Client, Key, Limit, Why, actor
from pgsched.api.requests import ApiRequest
from pgsched.errors import NotFound
from pgsched.store.ends import dead_letters
from pgsched.store.ends.dead_letters import Changes
from pgsched.store.lookup import listings
from pgsched.store.lookup.rows import DeadLetter, DeadLetterFilter

DeadLetterId = Annotated[UUID, PathParameter(description="The id of the execution that failed.")]
_HOW = "finished_at, RFC 3339 with an offset"
Start = Annotated[str | None, QueryParameter(name="from", description=f"At or after this {_HOW}.")]
End = Annotated[str | None, QueryParameter(name="to", description=f"Before this {_HOW}.")]
Target = Annotated[str | None, QueryParameter(name="target", description="How the target begins.")]
Host = Annotated[str | None, QueryParameter(name="host", description="The target's host.")]
JobOf = Annotated[UUID | None, QueryParameter(name="job", description="Of this job.")]
Reason = Annotated[str | None, QueryParameter(name="reason", description="A part of the reason, in any case.")]
StatusCode = Annotated[int | None, QueryParameter(name="status_code", ge=100, le=599)]
State = Annotated[
    Literal["open", "replayed", "discarded", "all"],
    QueryParameter(name="state", description="What has been done about it: open is nothing."),
]


class ReplayOne(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With what it is run again; what is left out stays as it was."""

    target: str | None = None
    payload: Annotated[msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB.")] = UNSET
    options: Annotated[dict[str, Any], Meta(description="Take the place of all that were there.")] | None = None
    note: Annotated[str, Meta(max_length=1000, description="Why, for the audit log.")] | None = None

    def changes(self) -> Changes:
        payload = None if isinstance(self.payload, UnsetType) else bytes(self.payload).decode()
        options = None if self.options is None else msgspec.json.encode(self.options).decode()
        return Changes(target=self.target, payload=payload, options=options)


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """``id`` is the new execution's."""

    id: UUID
    dead_letter: UUID


class DiscardedMany(msgspec.Struct, frozen=True, kw_only=True):
    """How many were discarded. Where not ``complete``, ask again: one request discards no more than it has time for."""

    discarded: int
    complete: bool


class DeadLetterPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[DeadLetter]
    next: str | None


@get("/dead-letters", summary="List dead letters, the newest first", responses=problems(400))
async def list_dead_letters(
    database: Pooled,
    client: Client = None,
    target: Target = None,
    host: Host = None,
    job: JobOf = None,
    key: Key = None,
    start: Start = None,
    end: End = None,
    reason: Reason = None,
    status_code: StatusCode = None,
    letter_state: State = "open",
    limit: Limit = 50,
    after: After = None,
) -> DeadLetterPage:
    """The executions that failed for good, each with its reason; those that nothing was done about, unless asked."""
    wanted = _filter(client, target, host, job, key, start, end, reason, status_code)
    async with database.page() as connection:
        page = await listings.list_dead_letters(
            connection, wanted, state=letter_state, limit=limit, after=position(after)
        )
    return DeadLetterPage(items=page.items, next=cursor(page.next))


@get("/dead-letters/{execution_id:str}", summary="One dead letter with its failed tries", responses=problems(400, 404))
async def get_dead_letter(execution_id: DeadLetterId, database: Pooled) -> DeadLetterDetail:
    async with database.connection() as connection:
        found = await listings.get_dead_letter(connection, execution_id)
        if found is None:
            raise NotFound(f"there is no dead letter {execution_id}; look it up in /v1/dead-letters?state=all")
        return dead_letter_detail(found, await listings.attempts_of(connection, execution_id))


@post(
    "/executions/{execution_id:str}/retry",
    summary="Replay a dead letter: run it again as a new execution",
    responses=problems(400, 404, 409, 413, 415, 422, 429),
)
async def replay(
    request: ApiRequest, execution_id: ExecutionId, database: Pooled, data: JSONBody[ReplayOne | None] = None
) -> Response[Replayed]:
    """Asked for again it answers with the same execution, unless that one has failed too."""
    wanted = data or ReplayOne()
    async with database.connection() as connection:
        id = await dead_letters.replay(
            connection, execution_id, wanted.changes(), note=wanted.note, actor=actor(request)
        )
    answer = Replayed(id=id, dead_letter=execution_id)
    return Response(answer, headers={"Location": f"/v1/executions/{id}"})


@delete(
    "/dead-letters/{execution_id:str}",
    status_code=200,
    summary="Discard a dead letter",
    responses=problems(400, 404, 409),
)
async def discard(request: ApiRequest, execution_id: DeadLetterId, database: Pooled, note: Why = None) -> Changed:
    """It is open no more; in history it stays."""
    async with database.connection() as connection:
        changed = await dead_letters.discard(connection, execution_id, note=note, actor=actor(request))
    return Changed(id=execution_id, changed=changed)


@delete(
    "/dead-letters",
    status_code=200,
    summary="Discard the dead letters that a filter names",
    responses=problems(400, 422),
)
async def discard_all(
    request: ApiRequest,
    database: Pooled,
    client: Client = None,
    target: Target = None,
    host: Host = None,
    job: JobOf = None,
    key: Key = None,
    start: Start = None,
    end: End = None,
    reason: Reason = None,
    status_code: StatusCode = None,
    note: Why = None,
) -> DiscardedMany:
    """At least one filter must be given."""
    wanted = _filter(client, target, host, job, key, start, end, reason, status_code)
    async with database.connection() as connection:
        done = await dead_letters.discard_all(connection, wanted, note=note, actor=actor(request))
    return DiscardedMany(discarded=done.discarded, complete=done.complete)


def _filter(
    client: str | None,
    target: str | None,
    host: str | None,
    job: UUID | None,
    key: str | None,
    start: str | None,
    end: str | None,
    reason: str | None,
    status_code: int | None,
) -> DeadLetterFilter:
    return DeadLetterFilter(
        client=client,
        target=target,
        host=host,
        job=job,
        key=key,
        start=bound("from", start),
        end=bound("to", end),
        reason=reason,
        status_code=status_code,
    )
