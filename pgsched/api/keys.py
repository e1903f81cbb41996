"""The routes for API keys: administrators create, list, rotate and revoke them. A secret is shown only once."""

from datetime import timedelta
from typing import Annotated

import msgspec
from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import Body, JSONBody, PathParameter
from msgspec import Meta

from pgsched.api.parameters import Actor, AfterName, Duration, Instant, Limit, Pooled
from pgsched.api.routing import acts, makes, reads, removes, replaces
from pgsched.api_responses import Page, page_of
from pgsched.domain.api_key import Scope
from pgsched.domain.duration import length_of
from pgsched.domain.schedule import instant_of
from pgsched.store import internal_verbs
from pgsched.store.admin import api_keys
from pgsched.store.admin.api_keys import KeyRow

KeyId = Annotated[str, PathParameter(max_length=100, description="A key's id: the part between psk_ and the next _.")]
_SHOP = Example(
    summary="For one service, until the end of the year",
    value={
        "subject": "shop",
        "clients": ["shop"],
        "scopes": ["schedule", "read"],
        "expires_at": "2099-12-31T00:00:00Z",
    },
)


Rate = Annotated[int, Meta(ge=1, le=1_000_000)]


class NewKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The subject that uses the key; its scopes; its clients (by default, all); and its expiry (by default, never)."""

    subject: Annotated[str, Meta(min_length=1, max_length=200)]
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    clients: Annotated[list[str], Meta(min_length=1, max_length=100)] | None = None
    expires_at: Instant | None = None
    rate: Rate | None = None
    burst: Rate | None = None


class KeyRate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Requests per second (null: unlimited), and requests at once after a quiet period (by default, the rate)."""

    rate: Rate | None
    burst: Rate | None = None


class RotateKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The previous secret stays valid for ``keep_for``. By default, it becomes invalid at once."""

    keep_for: Duration | None = None


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """The token of a key. It is not shown again."""

    id: str
    token: str


class ApiKeyChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    id: str
    changed: bool


@reads("/keys", "List API keys", scope="admin", everywhere=True)
async def list_keys(database: Pooled, limit: Limit = 50, after: AfterName = None) -> Page[KeyRow]:
    """Returns one page, sorted by id, including revoked keys. Pass ``next`` as ``after`` for the next page."""
    found = await database.ask(api_keys.all_keys, limit=limit + 1, after=after)
    return page_of(found, limit, lambda row: row.id)


@reads("/keys/{key_id:str}", "Get an API key", 404, scope="admin", everywhere=True)
async def get_key(key_id: KeyId, database: Pooled) -> KeyRow:
    return await database.ask(api_keys.get, key_id)


@makes("/keys", "Create an API key", scope="admin", everywhere=True)
async def create_key(
    data: Annotated[NewKey, Body(examples=[_SHOP])], database: Pooled, actor: Actor
) -> Response[Secret]:
    """The token is returned only once, in this response."""
    given = msgspec.structs.asdict(data)
    if data.expires_at is not None:
        given["expires_at"] = instant_of(data.expires_at, "expires_at")
    token = await database.ask(api_keys.create, **given, actor=actor)
    return Response(Secret(id=token.id, token=str(token)), headers=_kept_by_nobody(f"/v1/keys/{token.id}"))


@acts("/keys/{key_id:str}/rotate", "Rotate an API key", 404, 409, scope="admin", everywhere=True)
async def rotate_key(
    key_id: KeyId, database: Pooled, actor: Actor, data: JSONBody[RotateKey | None] = None
) -> Response[Secret]:
    """The new token is returned only once, in this response."""
    keep_for = timedelta(0) if data is None or data.keep_for is None else length_of(data.keep_for)
    token = await database.ask(api_keys.rotate, key_id, keep_for=keep_for, actor=actor)
    return Response(Secret(id=token.id, token=str(token)), headers=_kept_by_nobody())


@replaces("/keys/{key_id:str}/rate", "Limit an API key's requests per second", 404, scope="admin", everywhere=True)
async def put_key_rate(key_id: KeyId, data: JSONBody[KeyRate], database: Pooled, actor: Actor) -> ApiKeyChanged:
    """Each API process counts requests separately, and applies the change within a second."""
    given = msgspec.structs.asdict(data)
    return ApiKeyChanged(
        id=key_id, changed=await database.ask(internal_verbs.set_key_rate, key_id, **given, actor=actor)
    )


@removes("/keys/{key_id:str}", "Revoke an API key", 404, scope="admin", everywhere=True)
async def revoke_key(key_id: KeyId, database: Pooled, actor: Actor) -> ApiKeyChanged:
    """Every API process refuses the key within a second."""
    return ApiKeyChanged(id=key_id, changed=await database.ask(internal_verbs.revoke_key, key_id, actor=actor))


def _kept_by_nobody(location: str | None = None) -> dict[str, str]:
    return {"Cache-Control": "no-store"} | ({"Location": location} if location else {})
