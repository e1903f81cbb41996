"""The routes for bulk operations: start one (or only count its items), show its progress, and stop it."""

from contextlib import nullcontext
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter, QueryParameter
from msgspec import Meta

from pgsched.api.access import check_scope, grant_of
from pgsched.api.parameters import Actor, After, Instant, Limit, OfJob, Pooled, cursor, position
from pgsched.api.request_reading import ApiRequest
from pgsched.api.routing import DRY_RUN, made_at, makes, reads, removes
from pgsched.api_responses import Changed, Page, page_of
from pgsched.domain.duration import parse_shift
from pgsched.domain.schedule import instant_of
from pgsched.domain.states import LiveStatus
from pgsched.store import verbs
from pgsched.store.bulk import starting
from pgsched.store.bulk.operation_types import Action, BulkAsked, BulkDetail, BulkOperation
from pgsched.store.core.text import check_text
from pgsched.store.lookup import bulk_pages
from pgsched.store.lookup.filters import filter_json

OperationId = Annotated[UUID, PathParameter(description="A bulk operation's id.")]
OfAction = Annotated[Action | None, QueryParameter(name="action", description="Only operations with this action.")]
_TAKEN_BACK = {"action": "cancel", "filter": {"client": "shop", "labels": {"campaign": "spring"}}, "dry_run": True}
_MOVED = {"action": "replay", "filter": {"host": "old.example"}, "target": "https://new.example/settle", "rate": 5}
_NIGHTS = {
    "action": "backfill",
    "filter": {
        "job": "0198c5a4-7b1e-7c3a-9f52-3d1f0a6e2b48",
        "from": "2026-02-01T00:00:00Z",
        "to": "2026-03-01T00:00:00Z",
    },
    "rate": 5,
    "dry_run": True,
}
_PAUSED = {"action": "pause", "filter": {"labels": {"team": "payments"}}, "note": "stocktaking"}


class BulkFilter(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """The filters, all of which must match; at least one besides ``status`` must be given. Jobs can be filtered only by
    ``client`` and ``labels``. A backfill takes ``job``, ``from`` and ``to``."""

    client: str | None = None
    status: (
        Annotated[list[LiveStatus], Meta(min_length=1, description="For executions: any of these statuses.")] | None
    ) = None
    queue: Annotated[str, Meta(description="For executions: the queue they are in.")] | None = None
    host: str | None = None
    job: UUID | None = None
    key: str | None = None
    start: (
        Annotated[
            Instant,
            Meta(description="Only if scheduled_for (for dead letters: finished_at) is at or after this instant."),
        ]
        | None
    ) = None
    end: (
        Annotated[
            Instant, Meta(description="Only if scheduled_for (for dead letters: finished_at) is before this instant.")
        ]
        | None
    ) = None
    target: Annotated[str, Meta(description="For dead letters: prefix of the target.")] | None = None
    reason: Annotated[str, Meta(description="For dead letters: part of the reason, ignoring case.")] | None = None
    status_code: Annotated[int, Meta(ge=100, le=599, description="For dead letters: the last HTTP status.")] | None = (
        None
    )
    labels: dict[str, str] | None = None

    def as_json(self) -> str:
        given = msgspec.structs.asdict(self)
        for name in ("client", "queue", "host", "key", "target", "reason"):
            check_text(name, given[name])
        for name, sent in (("start", "from"), ("end", "to")):
            given[name] = None if given[name] is None else instant_of(given[name], sent)
        return filter_json(given)


class AskBulk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The operation applies to everything that matches the filter when the request is made: executions (cancel,
    reschedule), open dead letters (replay, discard), jobs (pause, resume, cancel_jobs), or past instants of a job that
    have not succeeded (backfill)."""

    action: Action
    filter: BulkFilter
    rate: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=100_000,
                description="Maximum per second; by default 10 for replay and backfill, otherwise 1000. Not allowed "
                "for jobs.",
            ),
        ]
        | None
    ) = None
    target: Annotated[str, Meta(description="For replay: the target to call instead.")] | None = None
    fire_at: Annotated[Instant, Meta(description="For reschedule: the new instant.")] | None = None
    shift: (
        Annotated[str, Meta(description="For reschedule: how far to move each instant, e.g. PT1H or -15m.")] | None
    ) = None
    note: (
        Annotated[str, Meta(max_length=1000, description="Reason, shown with each changed item and in the audit log.")]
        | None
    ) = None
    dry_run: Annotated[bool, Meta(description="Only count the matches.")] = False

    def how(self, actor: str) -> dict[str, Any]:
        return {
            "rate": self.rate,
            "target": self.target,
            "fire_at": None if self.fire_at is None else instant_of(self.fire_at, "fire_at"),
            "shift": None if self.shift is None else parse_shift(self.shift),
            "note": self.note,
            "dry_run": self.dry_run,
            "actor": actor,
        }


_EXAMPLES = [
    Example(summary="Count a campaign's waiting executions", value=_TAKEN_BACK),
    Example(summary="Replay the dead letters of a host that has moved", value=_MOVED),
    Example(summary="Count the runs that a backfill of February would start", value=_NIGHTS),
    Example(summary="Pause a team's jobs", value=_PAUSED),
]


@makes(
    "/bulk",
    "Start a bulk operation: change everything that matches a filter, at a given rate",
    409,
    otherwise=(BulkAsked, DRY_RUN),
    response_description="Committed. Workers carry out the operation; operations on jobs are already finished.",
    scope="operate",
)
async def start_bulk(
    request: ApiRequest, data: Annotated[AskBulk, Body(examples=_EXAMPLES)], database: Pooled, actor: Actor
) -> Response[BulkAsked]:
    """Only waiting one-shots are rescheduled. A cancellation includes running executions, unless ``status`` excludes
    them. Dead letters whose work is being redone or has since succeeded are not replayed. A backfill also works while
    its job is paused. Cancelling jobs also requires the scope ``schedule``."""
    if data.action == "cancel_jobs":
        check_scope(grant_of(request), "schedule", everywhere=False)
    how = data.how(actor)
    async with database.computing() if data.action == "backfill" else nullcontext():
        found = await database.ask(starting.ask, data.action, data.filter.as_json(), **how)
    return made_at(f"/v1/bulk/{found.id}", found) if found.id else Response(found, status_code=200)


@reads("/bulk", "List bulk operations")
async def list_bulk(
    database: Pooled, action: OfAction = None, job: OfJob = None, limit: Limit = 50, after: After = None
) -> Page[BulkOperation]:
    """Returns one page of operations, each with its progress."""
    wanted: Any = {"action": action, "job": job, "limit": limit + 1, "after": position(after)}
    found = await database.ask(bulk_pages.list_operations, **wanted)
    return page_of(found, limit, lambda row: cursor(row.id))


@reads("/bulk/{operation_id:str}", "Get a bulk operation and its progress", 404)
async def get_bulk(operation_id: OperationId, database: Pooled) -> BulkDetail:
    """The response for a backfill also contains its runs."""
    return await database.ask(bulk_pages.get_detail, operation_id)


@removes("/bulk/{operation_id:str}", "Stop a bulk operation", 404, scope="operate")
async def stop_bulk(operation_id: OperationId, database: Pooled, actor: Actor) -> Changed:
    """Items that the operation has not reached stay unchanged, and changed items stay changed. The waiting executions
    of a backfill are cancelled."""
    return Changed(id=operation_id, changed=await database.ask(verbs.stop_bulk, operation_id, actor=actor))
