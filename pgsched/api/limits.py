"""Limits: how many executions may begin in a period, or run at once."""

from typing import Annotated

import msgspec
from litestar.openapi.spec import Example
from litestar.params import Body, PathParameter, QueryParameter

from pgsched.api.parameters import Actor, AfterName, Pooled
from pgsched.api.parameters import Limit as PageSize
from pgsched.api.routing import reads, removes, replaces
from pgsched.api.settings import Limit
from pgsched.domain.duration import parse_duration
from pgsched.domain.states import LimitKind
from pgsched.responses import Page, page_of
from pgsched.store import verbs
from pgsched.store.gates import limits
from pgsched.store.gates.limits import Amount, LimitRow

Kind = Annotated[str, PathParameter(description="client, host, queue or key.")]
LimitName = Annotated[str, PathParameter(max_length=300, description="Which client, host, queue or key.")]
KindAsked = Annotated[LimitKind | None, QueryParameter(name="kind")]
_RATE = Example(summary="100 a second, 10 at once", value={"rate": 100, "per": "PT1S", "concurrency": 10})


class LimitChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    kind: str
    name: str
    changed: bool


@reads("/limits", "List limits", scope="admin", everywhere=True)
async def list_limits(
    database: Pooled, kind: KindAsked = None, limit: PageSize = 50, after: AfterName = None
) -> Page[LimitRow]:
    """Returns one page, by kind and name; pass next as after for the next page."""
    found = await database.ask(limits.all_limits, limit=limit + 1, after=after, kind=kind)
    return page_of(found, limit, lambda row: f"{row.kind}:{row.name}")


@reads("/limits/{kind:str}/{name:str}", "Get a limit", 404, scope="admin", everywhere=True)
async def get_limit(kind: Kind, name: LimitName, database: Pooled) -> LimitRow:
    return await database.ask(limits.get_limit, kind, name)


@replaces("/limits/{kind:str}/{name:str}", "Set a limit", 404, scope="admin", everywhere=True)
async def put_limit(
    kind: Kind, name: LimitName, data: Annotated[Limit, Body(examples=[_RATE])], database: Pooled, actor: Actor
) -> LimitRow:
    """Replaces the previous limit, and applies to executions that have not started."""
    amount = Amount(rate=data.rate, per=parse_duration(data.per), burst=data.burst, concurrency=data.concurrency)
    async with database.connection() as connection, connection.transaction():
        await limits.set_limit(connection, kind, name, amount, actor=actor)
        return await limits.get_limit(connection, kind, name)


@removes("/limits/{kind:str}/{name:str}", "Remove a limit", scope="admin", everywhere=True)
async def drop_limit(kind: Kind, name: LimitName, database: Pooled, actor: Actor) -> LimitChanged:
    """Executions that it held back become eligible at once."""
    return LimitChanged(kind=kind, name=name, changed=await database.ask(verbs.drop_limit, kind, name, actor=actor))
