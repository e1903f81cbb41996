"""The routes for limits, sidelined target hosts and blocked ordering keys, which hold executions back."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter, QueryParameter
from msgspec import Meta

from pgsched.api.parameters import Actor, AfterName, Duration, Instant, OnlyClient, Pooled
from pgsched.api.parameters import Limit as PageSize
from pgsched.api.routing import acts, reads, removes, replaces
from pgsched.api_responses import Page, page_of
from pgsched.domain.duration import parse_duration
from pgsched.domain.gate import LimitKind
from pgsched.domain.schedule import instant_of
from pgsched.store import verbs
from pgsched.store.gates import blocked_keys, limits, sidelined_targets
from pgsched.store.gates.blocked_keys import BlockedKey
from pgsched.store.gates.limits import LimitRow
from pgsched.store.gates.sidelined_targets import Sidelined

Kind = Annotated[str, PathParameter(description="client, host, queue or key.")]
LimitName = Annotated[str, PathParameter(max_length=300, description="The name of the client, host, queue or key.")]
KindAsked = Annotated[LimitKind | None, QueryParameter(name="kind")]
_RATE = Example(summary="100 a second, 10 at once", value={"rate": 100, "per": "PT1S", "concurrency": 10})
_HOST = Example(summary="For one client", value={"host": "shop.example", "client": "payments"})
AfterExecution = Annotated[
    UUID | None, QueryParameter(name="after", description="Cursor: the value of next from the previous page.")
]
_KEY = Example(summary="One ordering key of a client", value={"client": "payments", "ordering_key": "account-42"})


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At most ``rate`` executions start in each ``per``; after a quiet period, up to ``burst`` start at once. At most
    ``concurrency`` executions run at once. ``rate`` or ``concurrency`` must be given."""

    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    per: Duration = "PT1S"
    burst: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    concurrency: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class TargetHost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host as it is written in targets. If ``client`` is omitted, the request concerns all clients."""

    host: Annotated[str, Meta(min_length=1, max_length=300)]
    client: Annotated[str, Meta(min_length=1, max_length=100)] | None = None


class Sidelining(TargetHost, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sidelines a host until the instant ``until`` or, if that is omitted, until the host is resumed."""

    until: Instant | None = None
    note: Annotated[str, Meta(max_length=1000)] | None = None


class OrderingKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ordering key of a client."""

    client: Annotated[str, Meta(min_length=1, max_length=100)]
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)]


class LimitChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    kind: str
    name: str
    changed: bool


class TargetChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    host: str
    client: str | None
    changed: bool


class KeyChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if the key was not blocked."""

    client: str
    ordering_key: str
    changed: bool


@reads("/limits", "List limits", scope="admin", everywhere=True)
async def list_limits(
    database: Pooled, kind: KindAsked = None, limit: PageSize = 50, after: AfterName = None
) -> Page[LimitRow]:
    """Returns one page, sorted by kind and name; pass ``next`` as ``after`` for the next page."""
    found = await database.ask(limits.all_limits, limit=limit + 1, after=after, kind=kind)
    return page_of(found, limit, lambda row: f"{row.kind}:{row.name}")


@reads("/limits/{kind:str}/{name:str}", "Get a limit", 404, scope="admin", everywhere=True)
async def get_limit(kind: Kind, name: LimitName, database: Pooled) -> LimitRow:
    return await database.ask(limits.get_limit, kind, name)


@replaces("/limits/{kind:str}/{name:str}", "Set a limit", 404, scope="admin", everywhere=True)
async def put_limit(
    kind: Kind, name: LimitName, data: Annotated[Limit, Body(examples=[_RATE])], database: Pooled, actor: Actor
) -> LimitRow:
    """The limit replaces the previous one, and applies to executions that have not started."""
    amount = {"rate": data.rate, "burst": data.burst, "concurrency": data.concurrency}
    async with database.connection() as connection, connection.transaction():
        await verbs.set_limit(connection, kind, name, per=parse_duration(data.per), **amount, actor=actor)
        return await limits.get_limit(connection, kind, name)


@removes("/limits/{kind:str}/{name:str}", "Remove a limit", scope="admin", everywhere=True)
async def drop_limit(kind: Kind, name: LimitName, database: Pooled, actor: Actor) -> LimitChanged:
    """Executions that the limit held back may start at once."""
    return LimitChanged(kind=kind, name=name, changed=await database.ask(verbs.drop_limit, kind, name, actor=actor))


@reads("/targets/sidelined", "List sidelined targets")
async def list_sidelined(
    database: Pooled, client: OnlyClient = None, limit: PageSize = 50, after: AfterName = None
) -> Page[Sidelined]:
    """Returns one page of target hosts that are failing, recovering or sidelined by hand, sorted by gate. Pass ``next``
    as ``after`` for the next page."""
    found = await database.ask(sidelined_targets.sidelined, limit=limit + 1, client=client, after=after)
    return page_of(found, limit, lambda row: row.gate)


@acts("/targets/pause", "Pause a target", scope="operate")
async def pause_target(
    data: Annotated[Sidelining, Body(examples=[_HOST])], database: Pooled, actor: Actor
) -> TargetChanged:
    """The host is not called until the given instant, or until it is resumed. Without a client, this applies to all
    clients."""
    until = instant_of(data.until, "until") if data.until is not None else None
    changed = await database.ask(
        verbs.pause, "target", data.host, client=data.client, until=until, note=data.note, actor=actor
    )
    return TargetChanged(host=data.host, client=data.client, changed=changed)


@acts("/targets/resume", "Resume a target", scope="operate")
async def resume_target(
    data: Annotated[TargetHost, Body(examples=[_HOST])], database: Pooled, actor: Actor
) -> TargetChanged:
    """Calls to the host resume at a few executions per second, and the rate then rises."""
    changed = await database.ask(verbs.resume, "target", data.host, client=data.client, actor=actor)
    return TargetChanged(host=data.host, client=data.client, changed=changed)


@reads("/ordering-keys/blocked", "List blocked ordering keys")
async def list_blocked(
    database: Pooled, client: OnlyClient = None, limit: PageSize = 50, after: AfterExecution = None
) -> Page[BlockedKey]:
    """Returns one page, newest first; pass ``next`` as ``after`` for the next page."""
    found = await database.ask(blocked_keys.blocked_keys, limit=limit + 1, client=client, after=after)
    return page_of(found, limit, lambda row: row.execution_id)


@acts("/ordering-keys/resume", "Resume an ordering key", 404, scope="operate")
async def resume_ordering_key(
    data: Annotated[OrderingKey, Body(examples=[_KEY])], database: Pooled, actor: Actor
) -> KeyChanged:
    """The key's other executions continue without the failed one, which stays a dead letter."""
    changed = await database.ask(verbs.resume, "ordering_key", data.ordering_key, client=data.client, actor=actor)
    return KeyChanged(client=data.client, ordering_key=data.ordering_key, changed=changed)
