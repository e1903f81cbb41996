"""Target hosts that are left alone: the list of them, pausing and resuming them by hand."""

from typing import Annotated, Any

import msgspec
from litestar.openapi.spec import Example
from litestar.params import Body

from pgsched.api.parameters import Actor, AfterName, Limit, OnlyClient, Pooled
from pgsched.api.routing import acts, reads
from pgsched.api.settings import Sidelining, TargetHost
from pgsched.domain.schedule import instant_of
from pgsched.responses import Page, page_of
from pgsched.store import verbs
from pgsched.store.gates import targets
from pgsched.store.gates.targets import Sidelined

_HOST = Example(summary="For one client", value={"host": "shop.example", "client": "payments"})


class TargetChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    host: str
    client: str | None
    changed: bool


@reads("/targets/sidelined", "List sidelined targets")
async def list_sidelined(
    database: Pooled, client: OnlyClient = None, limit: Limit = 50, after: AfterName = None
) -> Page[Sidelined]:
    """Returns one page of the targets that fail, recover or were sidelined by hand, by gate; pass next as after for the
    next page."""
    found = await database.ask(targets.sidelined, limit=limit + 1, client=client, after=after)
    return page_of(found, limit, lambda row: row.gate)


@acts("/targets/pause", "Pause a target", scope="operate")
async def pause_target(
    data: Annotated[Sidelining, Body(examples=[_HOST])], database: Pooled, actor: Actor
) -> TargetChanged:
    """Nothing more is called there, for one client or for all, until the given instant or until it is resumed."""
    until = instant_of(data.until, "until") if data.until is not None else None
    async with database.connection() as connection:
        named: Any = {"client": data.client, "until": until, "note": data.note}
        changed = await verbs.pause(connection, "target", data.host, **named, actor=actor)
    return TargetChanged(host=data.host, client=data.client, changed=changed)


@acts("/targets/resume", "Resume a target", scope="operate")
async def resume_target(
    data: Annotated[TargetHost, Body(examples=[_HOST])], database: Pooled, actor: Actor
) -> TargetChanged:
    """A few executions per second at first, then more and more."""
    changed = await database.ask(verbs.resume, "target", data.host, client=data.client, actor=actor)
    return TargetChanged(host=data.host, client=data.client, changed=changed)
