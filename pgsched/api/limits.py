"""Limits: how many executions may begin in a period, or run at once."""

from typing import Annotated, Literal

import msgspec
from litestar import delete, get, put
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter, QueryParameter

from pgsched.api.answers import problems
from pgsched.api.database import Pooled
from pgsched.api.jobs import Limit as PageSize
from pgsched.api.jobs import actor
from pgsched.api.requests import ApiRequest
from pgsched.api.settings import Limit, Name
from pgsched.domain.duration import parse_duration
from pgsched.store.gates import limits
from pgsched.store.gates.limits import Amount, LimitRow

Kind = Annotated[str, PathParameter(description="client, host, queue or key.")]
RowFilter = Annotated[str, PathParameter(max_length=300, description="Which client, host, queue or key.")]
KindAsked = Annotated[Literal["client", "host", "queue", "key"] | None, QueryParameter(name="kind")]
_RATE = Example(summary="100 a second, 10 at once", value={"rate": 100, "per": "PT1S", "concurrency": 10})


class LimitPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[LimitRow]
    next: str | None


class LimitChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    kind: str
    name: str
    changed: bool


@get("/limits", summary="List the limits", responses=problems(400))
async def list_limits(database: Pooled, kind: KindAsked = None, limit: PageSize = 50, after: Name = None) -> LimitPage:
    """One page, by kind and name; the next one is asked for with after."""
    async with database.connection() as connection:
        found = await limits.all_limits(connection, limit=limit + 1, after=after, kind=kind)
    page = found[:limit]
    return LimitPage(items=page, next=f"{page[-1].kind}:{page[-1].name}" if len(found) > limit else None)


@get("/limits/{kind:str}/{name:str}", summary="One limit", responses=problems(400, 404))
async def get_limit(kind: Kind, name: RowFilter, database: Pooled) -> LimitRow:
    async with database.connection() as connection:
        return await limits.get_limit(connection, kind, name)


@put("/limits/{kind:str}/{name:str}", summary="Set a limit", responses=problems(400, 403, 404, 413, 415, 422))
async def put_limit(
    request: ApiRequest, kind: Kind, name: RowFilter, data: Annotated[Limit, Body(examples=[_RATE])], database: Pooled
) -> LimitRow:
    """It takes the place of the limit there was, and holds for what has not begun."""
    amount = Amount(rate=data.rate, per=parse_duration(data.per), burst=data.burst, concurrency=data.concurrency)
    async with database.connection() as connection, connection.transaction():
        await limits.set_limit(connection, kind, name, amount, actor=actor(request))
        return await limits.get_limit(connection, kind, name)


@delete(
    "/limits/{kind:str}/{name:str}", status_code=200, summary="Take a limit away", responses=problems(400, 403, 422)
)
async def drop_limit(request: ApiRequest, kind: Kind, name: RowFilter, database: Pooled) -> LimitChanged:
    """What it held back goes on at once."""
    async with database.connection() as connection:
        changed = await limits.drop_limit(connection, kind, name, actor=actor(request))
    return LimitChanged(kind=kind, name=name, changed=changed)
