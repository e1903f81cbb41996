"""Executions cancelled or rescheduled many at once: counted first, done at a rate, shown and stopped."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import Meta

from pgsched.api.bodies import Instant
from pgsched.api.paging import cursor, position
from pgsched.api.parameters import Actor, After, Limit, Pooled
from pgsched.api.routing import DRY_RUN, made_at, makes, reads, removes
from pgsched.domain.duration import parse_shift
from pgsched.domain.schedule import instant_of
from pgsched.domain.states import LiveStatus, each_once
from pgsched.errors import InvalidInput
from pgsched.responses import Changed, Page, page_of
from pgsched.store import verbs
from pgsched.store.core.text import check_text
from pgsched.store.ends import bulk_changes
from pgsched.store.ends.bulk_changes import BulkChange, ChangingMany, How
from pgsched.store.lookup.rows import ExecutionFilter

ChangeId = Annotated[UUID, PathParameter(description="A bulk change's id.")]
_TAKEN_BACK = {"verb": "cancel", "filter": {"client": "shop", "labels": {"campaign": "spring"}}, "dry_run": True}


class NamedExecutions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """Executions that wait or run and have all of this; at least one beside status must be given."""

    client: str | None = None
    status: Annotated[list[LiveStatus], Meta(min_length=1, description="Any of these.")] | None = None
    queue: str | None = None
    host: str | None = None
    job: UUID | None = None
    key: str | None = None
    start: Annotated[str, Meta(description="scheduled_for at or after this instant.")] | None = None
    end: Annotated[str, Meta(description="scheduled_for before this instant.")] | None = None
    labels: dict[str, str] | None = None

    def wanted(self) -> ExecutionFilter:
        given = msgspec.structs.asdict(self)
        for name in ("client", "queue", "host", "key"):
            check_text(name, given[name])
        for name, sent in (("start", "from"), ("end", "to")):
            given[name] = None if given[name] is None else instant_of(given[name], sent)
        return ExecutionFilter(statuses=each_once(given.pop("status") or ()), **given)


class ChangeMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that the filter names and that are there by now, at most rate of them a second."""

    verb: Literal["cancel", "reschedule"]
    filter: NamedExecutions
    fire_at: Annotated[Instant, Meta(description="For rescheduling: the new instant.")] | None = None
    shift: Annotated[str, Meta(description="For rescheduling: by how much to move each, e.g. PT1H or -15m.")] | None = (
        None
    )
    rate: Annotated[float, Meta(gt=0, le=100_000, description="Executions per second.")] = 1000.0
    note: (
        Annotated[
            str, Meta(max_length=1000, description="Reason, shown with cancelled executions and in the audit log.")
        ]
        | None
    ) = None
    dry_run: Annotated[bool, Meta(description="Only count.")] = False


@makes(
    "/bulk-changes",
    "Cancel or reschedule executions by a filter, at a rate",
    409,
    otherwise=(ChangingMany, DRY_RUN),
    response_description="Committed: workers do it.",
    scope="operate",
)
async def change_many(
    data: Annotated[ChangeMany, Body(examples=[Example(summary="How many a campaign has waiting", value=_TAKEN_BACK)])],
    database: Pooled,
    actor: Actor,
) -> Response[ChangingMany]:
    """Only waiting one-shots are rescheduled. Cancelling includes running executions, unless status says otherwise."""
    wanted = data.filter.wanted()
    fire_at = None if data.fire_at is None else instant_of(data.fire_at, "fire_at")
    shift = None if data.shift is None else parse_shift(data.shift)
    how = How(rate=data.rate, note=data.note, dry_run=data.dry_run, actor=actor)
    if data.verb == "reschedule":
        found = await database.ask(bulk_changes.reschedule_many, wanted, how, fire_at=fire_at, shift=shift)
    elif fire_at is not None or shift is not None:
        raise InvalidInput("fire_at and shift are for reschedule: leave them out to cancel")
    else:
        found = await database.ask(bulk_changes.cancel_many, wanted, how)
    return made_at(f"/v1/bulk-changes/{found.id}", found) if found.id else Response(found, status_code=200)


@reads("/bulk-changes", "List bulk changes")
async def list_bulk_changes(database: Pooled, limit: Limit = 50, after: After = None) -> Page[BulkChange]:
    """Returns each with its progress, including replays of dead letters."""
    found = await database.ask(bulk_changes.list_bulk_changes, limit=limit + 1, after=position(after))
    return page_of(found, limit, lambda row: cursor(row.id))


@reads("/bulk-changes/{change_id:str}", "Get a bulk change and its progress", 404)
async def get_bulk_change(change_id: ChangeId, database: Pooled) -> BulkChange:
    return await database.ask(bulk_changes.get_bulk_change, change_id)


@removes("/bulk-changes/{change_id:str}", "End a bulk change", 404, scope="operate")
async def cancel_bulk_change(change_id: ChangeId, database: Pooled, actor: Actor) -> Changed:
    """Executions it has not reached stay unchanged; those it has changed stay changed."""
    return Changed(id=change_id, changed=await database.ask(verbs.cancel_bulk_change, change_id, actor=actor))
