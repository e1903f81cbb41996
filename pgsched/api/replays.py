"""Replays of many dead letters: they are counted, run at a rate, shown and cancelled."""

from typing import Annotated
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
from pgsched.domain.schedule import instant_of
from pgsched.responses import Changed, Page, page_of
from pgsched.store import verbs
from pgsched.store.core.text import check_text
from pgsched.store.ends import dead_letters
from pgsched.store.ends.dead_letters import Replay, Replaying
from pgsched.store.lookup.rows import DeadLetterFilter

ReplayId = Annotated[UUID, PathParameter(description="A replay's id.")]
_MOVED = {"filter": {"host": "old.example"}, "target": "https://new.example/settle", "rate": 5, "dry_run": True}


class NamedLetters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}
):
    """Dead letters that have all of this; at least one must be given."""

    client: str | None = None
    target: Annotated[str, Meta(description="Prefix of the target.")] | None = None
    host: str | None = None
    job: UUID | None = None
    key: str | None = None
    start: Instant | None = None
    end: Instant | None = None
    reason: Annotated[str, Meta(description="Part of the reason, ignoring case.")] | None = None
    status_code: Annotated[int, Meta(ge=100, le=599)] | None = None
    labels: dict[str, str] | None = None

    def wanted(self) -> DeadLetterFilter:
        given = msgspec.structs.asdict(self)
        for name in ("client", "target", "host", "key", "reason"):
            check_text(name, given[name])
        for name, sent in (("start", "from"), ("end", "to")):
            given[name] = None if given[name] is None else instant_of(given[name], sent)
        return DeadLetterFilter(**given)


class ReplayMany(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Those that the filter names and that have failed by now, at most rate of them a second."""

    filter: NamedLetters
    rate: Annotated[float, Meta(gt=0, le=100_000, description="Executions per second.")] = 10.0
    target: Annotated[str, Meta(description="Target to call instead.")] | None = None
    note: Annotated[str, Meta(max_length=1000, description="Reason, for the audit log.")] | None = None
    dry_run: Annotated[bool, Meta(description="Only count.")] = False


@makes(
    "/dead-letters/replay",
    "Replay dead letters by a filter, at a rate",
    409,
    otherwise=(Replaying, DRY_RUN),
    response_description="Committed: workers replay them.",
    scope="operate",
)
async def replay_all(
    data: Annotated[ReplayMany, Body(examples=[Example(summary="What a host that moved has missed", value=_MOVED)])],
    database: Pooled,
    actor: Actor,
) -> Response[Replaying]:
    """Dead letters whose work is under way again, or has been done since, are passed over."""
    wanted = data.filter.wanted()
    async with database.connection() as connection:
        found = await dead_letters.replay_all(
            connection,
            wanted,
            rate=data.rate,
            target=data.target,
            note=data.note,
            dry_run=data.dry_run,
            actor=actor,
        )
    return made_at(f"/v1/dead-letters/replays/{found.id}", found) if found.id else Response(found, status_code=200)


@reads("/dead-letters/replays", "List replays of many dead letters")
async def list_replays(database: Pooled, limit: Limit = 50, after: After = None) -> Page[Replay]:
    """Returns each with its progress."""
    found = await database.ask(dead_letters.list_replays, limit=limit + 1, after=position(after))
    return page_of(found, limit, lambda row: cursor(row.id))


@reads("/dead-letters/replays/{replay_id:str}", "Get a replay of many and its progress", 404)
async def get_replay(replay_id: ReplayId, database: Pooled) -> Replay:
    return await database.ask(dead_letters.get_replay, replay_id)


@removes("/dead-letters/replays/{replay_id:str}", "Cancel a replay of many", 404, scope="operate")
async def cancel_replay(replay_id: ReplayId, database: Pooled, actor: Actor) -> Changed:
    """Dead letters not yet replayed stay; executions already replayed continue."""
    return Changed(id=replay_id, changed=await database.ask(verbs.cancel_bulk_change, replay_id, actor=actor))
