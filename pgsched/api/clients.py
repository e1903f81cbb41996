"""The clients: their settings and signing secrets, and how they are held and released."""

from datetime import timedelta
from typing import Annotated

import msgspec
from litestar import delete, get, patch, post, put
from litestar.params import JSONBody, PathParameter

from pgsched.api.answers import problems
from pgsched.api.database import Pooled
from pgsched.api.jobs import Limit, actor
from pgsched.api.requests import ApiRequest, Note
from pgsched.api.settings import ClientSettings, Name, Rotation, note_in
from pgsched.domain.duration import parse_duration
from pgsched.domain.request import NO_DELAY
from pgsched.store.admin import clients
from pgsched.store.admin.clients import KEPT_FOR, ClientRow

ClientName = Annotated[str, PathParameter(max_length=100, description="A client's name.")]


class ClientPage(msgspec.Struct, frozen=True, kw_only=True):
    """``next`` is the ``after`` of the next page; null on the last."""

    items: list[ClientRow]
    next: str | None


class ClientChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    client: str
    changed: bool


class NewSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The secret that callbacks are signed with from now on. It is not shown again."""

    client: str
    secret: str


@get("/clients", summary="List the clients that something is set for", responses=problems(400))
async def list_clients(database: Pooled, limit: Limit = 50, after: Name = None) -> ClientPage:
    """One page, by name; the next one is asked for with after."""
    async with database.connection() as connection:
        found = await clients.all_clients(connection, limit=limit + 1, after=after)
    return ClientPage(items=found[:limit], next=found[limit - 1].client if len(found) > limit else None)


@get("/clients/{client:str}", summary="What is set for a client", responses=problems(400, 404))
async def get_client(client: ClientName, database: Pooled) -> ClientRow:
    async with database.connection() as connection:
        return await clients.get_client(connection, client)


@put("/clients/{client:str}", summary="Set all of a client", responses=problems(400, 403, 413, 415, 422))
async def put_client(
    request: ApiRequest, client: ClientName, data: JSONBody[ClientSettings], database: Pooled
) -> ClientRow:
    """What is left out gets its default. Its secrets, and whether it is held, stay."""
    defaults = dict.fromkeys(ClientSettings.__struct_fields__)
    async with database.connection() as connection, connection.transaction():
        await clients.set_client(connection, client, defaults | data.changes(), actor=actor(request))
        return await clients.get_client(connection, client)


@patch("/clients/{client:str}", summary="Set something of a client", responses=problems(400, 403, 413, 415, 422))
async def patch_client(
    request: ApiRequest, client: ClientName, data: JSONBody[ClientSettings], database: Pooled
) -> ClientRow:
    """Only what is named; null is the default."""
    async with database.connection() as connection, connection.transaction():
        await clients.set_client(connection, client, data.changes(), actor=actor(request))
        return await clients.get_client(connection, client)


@delete(
    "/clients/{client:str}",
    status_code=200,
    summary="Forget what is set for a client",
    responses=problems(400, 403, 409),
)
async def drop_client(request: ApiRequest, client: ClientName, database: Pooled) -> ClientChanged:
    """Its jobs and executions stay, and go by the defaults."""
    async with database.connection() as connection:
        changed = await clients.drop_client(connection, client, actor=actor(request))
    return ClientChanged(client=client, changed=changed)


@post("/clients/{client:str}/hold", status_code=200, summary="Hold a client", responses=problems(400, 403, 415, 422))
async def hold_client(
    request: ApiRequest, client: ClientName, database: Pooled, data: JSONBody[Note | None] = None
) -> ClientChanged:
    """Nothing more of it begins until it is released; what runs goes on."""
    async with database.connection() as connection:
        changed = await clients.hold_client(connection, client, note=note_in(data), actor=actor(request))
    return ClientChanged(client=client, changed=changed)


@post(
    "/clients/{client:str}/release",
    status_code=200,
    summary="Release a client that is held",
    responses=problems(400, 403, 415, 422),
)
async def release_client(
    request: ApiRequest, client: ClientName, database: Pooled, data: JSONBody[Note | None] = None
) -> ClientChanged:
    async with database.connection() as connection:
        changed = await clients.release_client(connection, client, note=note_in(data), actor=actor(request))
    return ClientChanged(client=client, changed=changed)


@post("/clients/{client:str}/secret", summary="Sign by a new secret", responses=problems(400, 403, 409, 415, 422))
async def rotate_secret(
    request: ApiRequest, client: ClientName, database: Pooled, data: JSONBody[Rotation | None] = None
) -> NewSecret:
    """Until the former secrets end, callbacks have a signature by each."""
    rotation = data or Rotation()
    keep_for = _kept_for(rotation.keep_for)
    async with database.connection() as connection:
        secret = await clients.rotate_secret(
            connection, client, secret=rotation.secret, keep_for=keep_for, actor=actor(request)
        )
    return NewSecret(client=client, secret=secret)


@delete(
    "/clients/{client:str}/secret",
    status_code=200,
    summary="Sign a client's callbacks no more",
    responses=problems(400, 403),
)
async def drop_secret(request: ApiRequest, client: ClientName, database: Pooled) -> ClientChanged:
    """The former secrets end too."""
    async with database.connection() as connection:
        changed = await clients.drop_secret(connection, client, actor=actor(request))
    return ClientChanged(client=client, changed=changed)


def _kept_for(given: str | None) -> timedelta:
    if given is None:
        return KEPT_FOR
    return timedelta(0) if given in NO_DELAY else parse_duration(given)
