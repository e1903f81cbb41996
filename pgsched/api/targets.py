"""Target hosts that are left alone: the list of them, sidelining and restoring by hand."""

from typing import Annotated

import msgspec
from litestar import get, post
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from pgsched.api.answers import problems
from pgsched.api.database import Pooled
from pgsched.api.executions import instant
from pgsched.api.jobs import Limit, actor
from pgsched.api.requests import ApiRequest
from pgsched.api.settings import Host, Name, Sidelining
from pgsched.store.gates import targets
from pgsched.store.gates.targets import Sidelined

Client = Annotated[str | None, QueryParameter(name="client", max_length=100, description="Only this client's.")]
_HOST = Example(summary="For one client", value={"host": "shop.example", "client": "payments"})


class SidelinedPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[Sidelined]
    next: str | None


class TargetChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    host: str
    client: str | None
    changed: bool


@get("/targets/sidelined", summary="List the targets that are left alone", responses=problems(400))
async def list_sidelined(
    database: Pooled, client: Client = None, limit: Limit = 50, after: Name = None
) -> SidelinedPage:
    """One page of those that fail, recover or were sidelined by hand, by gate; the next one is asked for with after."""
    async with database.connection() as connection:
        found = await targets.sidelined(connection, limit=limit + 1, client=client, after=after)
    return SidelinedPage(items=found[:limit], next=found[limit - 1].gate if len(found) > limit else None)


@post("/targets/sideline", status_code=200, summary="Leave a target alone", responses=problems(400, 403, 413, 415, 422))
async def sideline(
    request: ApiRequest, data: Annotated[Sidelining, Body(examples=[_HOST])], database: Pooled
) -> TargetChanged:
    """Nothing more is called there, for one client or for all, until then or until it is restored."""
    until = instant(data.until, "until") if data.until is not None else None
    async with database.connection() as connection:
        changed = await targets.sideline(
            connection, data.host, client=data.client, until=until, note=data.note, actor=actor(request)
        )
    return TargetChanged(host=data.host, client=data.client, changed=changed)


@post("/targets/restore", status_code=200, summary="Call a target again", responses=problems(400, 403, 413, 415, 422))
async def restore(
    request: ApiRequest, data: Annotated[Host, Body(examples=[_HOST])], database: Pooled
) -> TargetChanged:
    """A few executions a second at first, then more and more."""
    async with database.connection() as connection:
        changed = await targets.restore(connection, data.host, client=data.client, actor=actor(request))
    return TargetChanged(host=data.host, client=data.client, changed=changed)
