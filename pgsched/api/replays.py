"""Replays of many dead letters: they are counted, run at a rate, shown and cancelled."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Response, delete, get, post
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter
from msgspec import Meta

from pgsched.api.answers import Changed, dry_run_of, position, problems, split
from pgsched.api.database import Pooled
from pgsched.api.jobs import After, Limit, actor
from pgsched.api.requests import ApiRequest, Instant
from pgsched.domain.schedule import instant_of
from pgsched.store.ends import dead_letters
from pgsched.store.ends.dead_letters import Replay
from pgsched.store.lookup.rows import DeadLetterFilter
from pgsched.store.schedule.order import check_text

ReplayId = Annotated[UUID, PathParameter(description="A replay's id.")]
_MOVED = {"filter": {"host": "old.example"}, "target": "https://new.example/settle", "rate": 5, "dry_run": True}


class NamedLetters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """Dead letters that have all of this; at least one must be given."""

    client: str | None = None
    target: Annotated[str, Meta(description="How the target begins.")] | None = None
    host: str | None = None
    job: UUID | None = None
    key: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    reason: Annotated[str, Meta(description="A part of the reason, in any case.")] | None = None
    status_code: Annotated[int, Meta(ge=100, le=599)] | None = None

    def wanted(self) -> DeadLetterFilter:
        for name in ("client", "target", "host", "key", "reason"):
            check_text(name, getattr(self, name))
        return DeadLetterFilter(
            client=self.client,
            target=self.target,
            host=self.host,
            job=self.job,
            key=self.key,
            start=None if self.start is None else instant_of(self.start, "from"),
            end=None if self.end is None else instant_of(self.end, "to"),
            reason=self.reason,
            status_code=self.status_code,
        )


class ReplayMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that the filter names and that have failed by now, at most rate of them a second."""

    filter: NamedLetters
    rate: Annotated[float, Meta(gt=0, le=100_000, description="Executions a second.")] = 10.0
    target: Annotated[str, Meta(description="What is called instead.")] | None = None
    note: Annotated[str, Meta(max_length=1000, description="Why, for the audit log.")] | None = None
    dry_run: Annotated[bool, Meta(description="Only count.")] = False


class ReplayingMany(msgspec.Struct, frozen=True, kw_only=True):
    """``id`` is null after a dry run. Where not ``complete``, there was no time to count more than ``matched``."""

    id: UUID | None
    matched: int
    complete: bool


class ReplayPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Replay]
    next: str | None


@post(
    "/dead-letters/replay",
    summary="Replay the dead letters that a filter names, at a rate",
    responses=problems(400, 413, 415, 422) | dry_run_of(ReplayingMany),
    response_description="Committed: workers replay them.",
)
async def replay_all(
    request: ApiRequest,
    data: Annotated[ReplayMany, Body(examples=[Example(summary="What a host that moved has missed", value=_MOVED)])],
    database: Pooled,
) -> Response[ReplayingMany]:
    """Those whose work is under way, or was done since, are passed over."""
    wanted = data.filter.wanted()
    async with database.connection() as connection:
        counted = await dead_letters.count(connection, wanted)
        id = None
        if not data.dry_run:
            given = {"target": data.target, "note": data.note, "actor": actor(request)}
            id = await dead_letters.replay_all(connection, wanted, rate=data.rate, **given)
    answer = ReplayingMany(id=id, matched=counted.matched, complete=counted.complete)
    if id is None:
        return Response(answer, status_code=200)
    return Response(answer, headers={"Location": f"/v1/dead-letters/replays/{id}"})


@get("/dead-letters/replays", summary="The replays of many, the newest first", responses=problems(400))
async def list_replays(database: Pooled, limit: Limit = 50, after: After = None) -> ReplayPage:
    """Each with how far it is."""
    async with database.connection() as connection:
        found = await dead_letters.list_replays(connection, limit=limit + 1, after=position(after))
    page, following = split(found, limit)
    return ReplayPage(items=page, next=following)


@get(
    "/dead-letters/replays/{replay_id:str}",
    summary="One replay of many and how far it is",
    responses=problems(400, 404),
)
async def get_replay(replay_id: ReplayId, database: Pooled) -> Replay:
    async with database.connection() as connection:
        return await dead_letters.get_replay(connection, replay_id)


@delete(
    "/dead-letters/replays/{replay_id:str}",
    status_code=200,
    summary="Cancel a replay of many",
    responses=problems(400, 404),
)
async def cancel_replay(request: ApiRequest, replay_id: ReplayId, database: Pooled) -> Changed:
    """What it has not replayed yet stays a dead letter; what it has goes on."""
    async with database.connection() as connection:
        changed = await dead_letters.cancel_replay(connection, replay_id, actor=actor(request))
    return Changed(id=replay_id, changed=changed)
