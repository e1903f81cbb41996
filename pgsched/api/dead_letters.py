"""The routes for dead letters (executions that failed for good): list, replay, discard."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response
from litestar.params import JSONBody, PathParameter, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.parameters import (
    INSTANT,
    Actor,
    After,
    Client,
    ExecutionId,
    Host,
    Key,
    Labels,
    Limit,
    OfJob,
    Pooled,
    Sorted,
    Why,
    bound,
    host_sought,
    labels_in,
    listing,
    page,
)
from pgsched.api.routing import made_at, makes, reads, removes
from pgsched.api_responses import Changed, Page, Replayed
from pgsched.domain.states import LetterState
from pgsched.store import verbs
from pgsched.store.lookup import executions_and_jobs
from pgsched.store.lookup.filters import DeadLetterFilter
from pgsched.store.lookup.row_types import DeadLetter, DeadLetterDetail

DeadLetterId = Annotated[UUID, PathParameter(description="The id of the execution that failed.")]
_HOW = "instant (RFC 3339 with an offset)"
Start = Annotated[
    str | None,
    QueryParameter(name="from", description=f"Only if finished_at is at or after this {_HOW}.", schema_extra=INSTANT),
]
End = Annotated[
    str | None,
    QueryParameter(name="to", description=f"Only if finished_at is before this {_HOW}.", schema_extra=INSTANT),
]
Target = Annotated[str | None, QueryParameter(name="target", description="Prefix of the target.")]
Reason = Annotated[str | None, QueryParameter(name="reason", description="Part of the reason, ignoring case.")]
StatusCode = Annotated[int | None, QueryParameter(name="status_code", ge=100, le=599)]
State = Annotated[
    LetterState,
    QueryParameter(name="state", description="open, replayed, discarded or all."),
]


class ReplayOne(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes for the new run; omitted fields keep their values."""

    target: str | None = None
    payload: Annotated[msgspec.Raw | UnsetType, Meta(description="Any JSON, up to 1 MiB.")] = UNSET
    options: Annotated[dict[str, Any], Meta(description="Options; those given replace all current ones.")] | None = None
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None

    def changes(self) -> dict[str, str | None]:
        payload = None if isinstance(self.payload, UnsetType) else bytes(self.payload).decode()
        options = None if self.options is None else msgspec.json.encode(self.options).decode()
        return {"target": self.target, "payload": payload, "options": options}


@reads("/dead-letters", "List dead letters")
async def list_dead_letters(
    database: Pooled,
    client: Client = None,
    target: Target = None,
    host: Host = None,
    job: OfJob = None,
    key: Key = None,
    start: Start = None,
    end: End = None,
    reason: Reason = None,
    status_code: StatusCode = None,
    label: Labels = None,
    letter_state: State = "open",
    sort: Sorted = "newest",
    limit: Limit = 50,
    after: After = None,
) -> Page[DeadLetter]:
    """Returns executions that failed for good, each with the reason; by default, only those that are open."""
    wanted = DeadLetterFilter(
        client=client,
        target=target,
        host=host_sought(host),
        job=job,
        key=key,
        start=bound("from", start),
        end=bound("to", end),
        reason=reason,
        status_code=status_code,
        labels=labels_in(label),
    )
    how = listing(limit, after, sort)
    async with database.page() as connection:
        return page(await executions_and_jobs.list_dead_letters(connection, wanted, state=letter_state, **how))


@reads("/dead-letters/{execution_id:str}", "Get a dead letter with its failed attempts", 404)
async def get_dead_letter(execution_id: DeadLetterId, database: Pooled) -> DeadLetterDetail:
    return await database.ask(executions_and_jobs.dead_letter_detail, execution_id)


@makes(
    "/executions/{execution_id:str}/retry",
    "Replay a dead letter as a new execution",
    404,
    409,
    429,
    scope="operate",
)
async def replay(
    execution_id: ExecutionId, database: Pooled, actor: Actor, data: JSONBody[ReplayOne | None] = None
) -> Response[Replayed]:
    """Repeating the request returns the same new execution, unless the new execution has failed as well."""
    wanted = data or ReplayOne()
    id = await database.ask(verbs.replay, execution_id, **wanted.changes(), note=wanted.note, actor=actor)
    return made_at(f"/v1/executions/{id}", Replayed(id=id, dead_letter=execution_id))


@removes("/dead-letters/{execution_id:str}", "Discard a dead letter", 404, 409, scope="operate")
async def discard(execution_id: DeadLetterId, database: Pooled, actor: Actor, note: Why = None) -> Changed:
    """The dead letter is no longer open, but stays in history."""
    changed = await database.ask(verbs.discard, execution_id, note=note, actor=actor)
    return Changed(id=execution_id, changed=changed)
