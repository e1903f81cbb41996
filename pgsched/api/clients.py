"""The clients: their settings and signing secrets, and how they are paused and resumed."""

from typing import Annotated

import msgspec
from litestar.params import JSONBody, PathParameter

from pgsched.api.parameters import Actor, AfterName, Limit, Noted, Pooled, Ring, note_in
from pgsched.api.routing import acts, makes, reads, removes, replaces, sets
from pgsched.api.settings import ClientSettings, Rotation
from pgsched.domain.duration import length_of
from pgsched.responses import Page, page_of
from pgsched.store import verbs
from pgsched.store.admin import clients
from pgsched.store.admin.clients import KEPT_FOR, ClientRow

ClientName = Annotated[str, PathParameter(max_length=100, description="A client's name.")]


class ClientChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when it was so before."""

    client: str
    changed: bool


class MadeSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The secret that callbacks are signed with from now on. It is not shown again."""

    client: str
    secret: str


@reads("/clients", "List the clients that have settings")
async def list_clients(database: Pooled, limit: Limit = 50, after: AfterName = None) -> Page[ClientRow]:
    """Returns one page, by name; pass next as after for the next page."""
    return page_of(await database.ask(clients.all_clients, limit=limit + 1, after=after), limit, lambda row: row.client)


@reads("/clients/{client:str}", "Get a client's settings", 404)
async def get_client(client: ClientName, database: Pooled) -> ClientRow:
    return await database.ask(clients.get_client, client)


@replaces("/clients/{client:str}", "Replace a client's settings", scope="admin", everywhere=True)
async def put_client(client: ClientName, data: JSONBody[ClientSettings], database: Pooled, actor: Actor) -> ClientRow:
    """Fields that are left out get their defaults. Secrets and a hold stay."""
    defaults = dict.fromkeys(ClientSettings.__struct_fields__)
    async with database.connection() as connection, connection.transaction():
        await clients.set_client(connection, client, defaults | data.changes(), actor=actor)
        return await clients.get_client(connection, client)


@sets("/clients/{client:str}", "Change a client's settings", scope="admin")
async def patch_client(client: ClientName, data: JSONBody[ClientSettings], database: Pooled, actor: Actor) -> ClientRow:
    """Changes the given fields only; null means the default."""
    async with database.connection() as connection, connection.transaction():
        await clients.set_client(connection, client, data.changes(), actor=actor)
        return await clients.get_client(connection, client)


@removes("/clients/{client:str}", "Delete a client's settings", 409, scope="admin")
async def drop_client(client: ClientName, database: Pooled, actor: Actor) -> ClientChanged:
    """Its jobs and executions stay, and use the defaults."""
    return ClientChanged(client=client, changed=await database.ask(verbs.drop_client, client, actor=actor))


@acts("/clients/{client:str}/pause", "Pause a client", scope="operate")
async def pause_client(client: ClientName, database: Pooled, actor: Actor, data: Noted = None) -> ClientChanged:
    """Nothing more of it starts until it is resumed; what runs continues."""
    changed = await database.ask(verbs.pause, "client", client, note=note_in(data), actor=actor)
    return ClientChanged(client=client, changed=changed)


@acts("/clients/{client:str}/resume", "Resume a client", scope="operate")
async def resume_client(client: ClientName, database: Pooled, actor: Actor, data: Noted = None) -> ClientChanged:
    changed = await database.ask(verbs.resume, "client", client, note=note_in(data), actor=actor)
    return ClientChanged(client=client, changed=changed)


@makes("/clients/{client:str}/signing-secret", "Rotate a client's signing secret", 409, scope="admin")
async def rotate_signing_secret(
    client: ClientName, database: Pooled, ring: Ring, actor: Actor, data: JSONBody[Rotation | None] = None
) -> MadeSecret:
    """Until the previous secrets expire, callbacks carry a signature by each of them."""
    asked = data or Rotation()
    kept = KEPT_FOR if asked.keep_for is None else length_of(asked.keep_for)
    made = await database.ask(
        clients.rotate_signing_secret, ring, client, secret=asked.secret, keep_for=kept, actor=actor
    )
    return MadeSecret(client=client, secret=made)


@removes("/clients/{client:str}/signing-secret", "Stop signing a client's callbacks", scope="admin")
async def drop_signing_secret(client: ClientName, database: Pooled, actor: Actor) -> ClientChanged:
    """The previous secrets end, too."""
    return ClientChanged(client=client, changed=await database.ask(verbs.drop_signing_secret, client, actor=actor))
