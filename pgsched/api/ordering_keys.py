"""Ordering keys that wait for a decision, since an execution of theirs failed for good."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import get, post
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from pgsched.api.answers import problems
from pgsched.api.database import Pooled
from pgsched.api.jobs import Limit, actor
from pgsched.api.requests import ApiRequest
from pgsched.api.settings import OrderingKey
from pgsched.store.gates import blocked_keys
from pgsched.store.gates.blocked_keys import BlockedKey

Client = Annotated[str | None, QueryParameter(name="client", max_length=100, description="Only this client's.")]
After = Annotated[UUID | None, QueryParameter(name="after", description="next of the page before.")]
_KEY = Example(summary="A key of a client", value={"client": "payments", "ordering_key": "account-42"})


class BlockedPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[BlockedKey]
    next: UUID | None


class KeyChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when the key was not blocked."""

    client: str
    ordering_key: str
    changed: bool


@get("/ordering-keys/blocked", summary="List the blocked ordering keys", responses=problems(400))
async def list_blocked(database: Pooled, client: Client = None, limit: Limit = 50, after: After = None) -> BlockedPage:
    """One page, the newest first; the next one is asked for with after."""
    async with database.connection() as connection:
        found = await blocked_keys.blocked_keys(connection, limit=limit + 1, client=client, after=after)
    return BlockedPage(items=found[:limit], next=found[limit - 1].execution_id if len(found) > limit else None)


@post(
    "/ordering-keys/unblock",
    status_code=200,
    summary="Let a blocked ordering key go on",
    responses=problems(400, 404, 413, 415, 422),
)
async def unblock(
    request: ApiRequest, data: Annotated[OrderingKey, Body(examples=[_KEY])], database: Pooled
) -> KeyChanged:
    """Without the one that failed; that one stays a dead letter."""
    async with database.connection() as connection:
        changed = await blocked_keys.unblock(connection, data.client, data.ordering_key, actor=actor(request))
    return KeyChanged(client=data.client, ordering_key=data.ordering_key, changed=changed)
