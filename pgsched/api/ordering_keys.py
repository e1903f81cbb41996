"""Ordering keys that wait for a decision, since an execution of theirs failed for good."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from pgsched.api.parameters import Actor, Limit, OnlyClient, Pooled
from pgsched.api.routing import acts, reads
from pgsched.api.settings import OrderingKey
from pgsched.responses import Page, page_of
from pgsched.store import verbs
from pgsched.store.gates import blocked_keys
from pgsched.store.gates.blocked_keys import BlockedKey

After = Annotated[UUID | None, QueryParameter(name="after", description="next of the page before.")]
_KEY = Example(summary="A key of a client", value={"client": "payments", "ordering_key": "account-42"})


class KeyChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when the key was not blocked."""

    client: str
    ordering_key: str
    changed: bool


@reads("/ordering-keys/blocked", "List blocked ordering keys")
async def list_blocked(
    database: Pooled, client: OnlyClient = None, limit: Limit = 50, after: After = None
) -> Page[BlockedKey]:
    """Returns one page, newest first; pass next as after for the next page."""
    found = await database.ask(blocked_keys.blocked_keys, limit=limit + 1, client=client, after=after)
    return page_of(found, limit, lambda row: row.execution_id)


@acts("/ordering-keys/resume", "Resume an ordering key", 404, scope="operate")
async def resume_ordering_key(
    data: Annotated[OrderingKey, Body(examples=[_KEY])], database: Pooled, actor: Actor
) -> KeyChanged:
    """Continues without the execution that failed, which stays a dead letter."""
    changed = await database.ask(verbs.resume, "ordering_key", data.ordering_key, client=data.client, actor=actor)
    return KeyChanged(client=data.client, ordering_key=data.ordering_key, changed=changed)
