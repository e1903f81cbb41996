"""The routes for clients: their settings, their signing secrets, and the secrets that options refer to."""

from typing import Annotated, Literal

import msgspec
from litestar.params import JSONBody, PathParameter
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.parameters import Actor, AfterName, ChangedSettings, Defaults, Duration, Limit, Pooled, Ring, Weight
from pgsched.api.pausing import pausable
from pgsched.api.routing import makes, reads, removes, replaces, sets
from pgsched.api_responses import Page, page_of
from pgsched.domain.duration import length_of
from pgsched.store import verbs
from pgsched.store.admin import clients, secrets
from pgsched.store.admin.clients import KEPT_FOR, ClientRow
from pgsched.store.admin.secrets import SecretRow

ClientName = Annotated[str, PathParameter(max_length=100, description="A client's name.")]
SecretName = Annotated[str, PathParameter(max_length=100, description="A secret's name.")]
ChannelName = Annotated[
    str,
    Meta(
        pattern=r"^(http|python|sql|notify|kafka|notify:[A-Za-z_][A-Za-z0-9_]{0,62})$",
        description="A kind of target, such as http, or notify:CHANNEL, which reserves the channel for the clients "
        "that name it.",
    ),
]
Told = Annotated[str, Meta(max_length=2048, description="Target to call for each dead letter.")]


class ClientSettings(ChangedSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to a client's settings. ``options`` is replaced as a whole."""

    keep: Literal["all", "failures", "nothing"] | UnsetType | None = UNSET
    options: Defaults | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    database_role: Annotated[str, Meta(min_length=1, max_length=63)] | UnsetType | None = UNSET
    channels: Annotated[list[ChannelName], Meta(min_length=1, max_length=20)] | UnsetType | None = UNSET
    dead_letter_target: Told | UnsetType | None = UNSET
    dead_letters_for: Duration | UnsetType | None = UNSET
    late_after: Duration | UnsetType | None = UNSET
    on_time_share: Annotated[float, Meta(ge=0.5, le=0.9999)] | UnsetType | None = UNSET


class Rotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """If ``secret`` is omitted, a random secret is created. Previous secrets stay valid for ``keep_for``, by default
    one day."""

    secret: Annotated[str, Meta(description="whsec_ followed by the base64 of 24 to 64 random bytes.")] | None = None
    keep_for: Duration | None = None


class SecretValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value to store. It is never shown."""

    value: Annotated[str, Meta(min_length=1, description="At most 16384 bytes, without NUL.")]
    hosts: (
        Annotated[
            list[Annotated[str, Meta(max_length=300)]],
            Meta(
                max_length=20,
                description="The only hosts that may get the secret. If omitted, the hosts do not change.",
            ),
        ]
        | None
    ) = None


class ClientChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if nothing changed."""

    client: str
    changed: bool


class MadeSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The new signing secret. It is not shown again."""

    client: str
    secret: str


class SecretChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false if there was no such secret to drop."""

    client: str
    name: str
    changed: bool


@reads("/clients", "List the clients that have settings")
async def list_clients(database: Pooled, limit: Limit = 50, after: AfterName = None) -> Page[ClientRow]:
    """Returns one page, sorted by name; pass ``next`` as ``after`` for the next page."""
    return page_of(await database.ask(clients.all_clients, limit=limit + 1, after=after), limit, lambda row: row.client)


@reads("/clients/{client:str}", "Get a client's settings", 404)
async def get_client(client: ClientName, database: Pooled) -> ClientRow:
    return await database.ask(clients.get_client, client)


@replaces("/clients/{client:str}", "Replace a client's settings", scope="admin", everywhere=True)
async def put_client(client: ClientName, data: JSONBody[ClientSettings], database: Pooled, actor: Actor) -> ClientRow:
    """Omitted fields are set to their defaults. The client's secrets do not change, and a held client stays held."""
    defaults = dict.fromkeys(ClientSettings.__struct_fields__)
    async with database.connection() as connection, connection.transaction():
        await verbs.set_client(connection, client, defaults | data.changes(), actor=actor)
        return await clients.get_client(connection, client)


@sets("/clients/{client:str}", "Change a client's settings", scope="admin")
async def patch_client(client: ClientName, data: JSONBody[ClientSettings], database: Pooled, actor: Actor) -> ClientRow:
    """Changes only the given fields; null restores the default."""
    async with database.connection() as connection, connection.transaction():
        await verbs.set_client(connection, client, data.changes(), actor=actor)
        return await clients.get_client(connection, client)


@removes("/clients/{client:str}", "Delete a client's settings", 409, scope="admin")
async def drop_client(client: ClientName, database: Pooled, actor: Actor) -> ClientChanged:
    """The client's jobs and executions are kept, and use the default settings."""
    return ClientChanged(client=client, changed=await database.ask(verbs.drop_client, client, actor=actor))


pause_client, resume_client = pausable(
    "client",
    "/clients/{client:str}",
    ClientName,
    ClientChanged,
    pauses="No further executions of this client start until the client is resumed; running ones continue.",
    scope="operate",
)


@makes("/clients/{client:str}/signing-secret", "Rotate a client's signing secret", 409, scope="admin")
async def rotate_signing_secret(
    client: ClientName, database: Pooled, ring: Ring, actor: Actor, data: JSONBody[Rotation | None] = None
) -> MadeSecret:
    """Until the previous secrets expire, callbacks are also signed with each of them."""
    asked = data or Rotation()
    kept = KEPT_FOR if asked.keep_for is None else length_of(asked.keep_for)
    made = await database.ask(
        clients.rotate_signing_secret, ring, client, secret=asked.secret, keep_for=kept, actor=actor
    )
    return MadeSecret(client=client, secret=made)


@removes("/clients/{client:str}/signing-secret", "Stop signing a client's callbacks", scope="admin")
async def drop_signing_secret(client: ClientName, database: Pooled, actor: Actor) -> ClientChanged:
    """The client's previous signing secrets become invalid, too."""
    return ClientChanged(client=client, changed=await database.ask(verbs.drop_signing_secret, client, actor=actor))


@reads("/clients/{client:str}/secrets", "List the secrets of a client", scope="admin")
async def list_secrets(
    client: ClientName, database: Pooled, limit: Limit = 50, after: AfterName = None
) -> Page[SecretRow]:
    """Returns one page, sorted by name; pass ``next`` as ``after`` for the next page."""
    found = await database.ask(secrets.all_secrets, client, limit=limit + 1, after=after)
    return page_of(found, limit, lambda row: row.name)


@replaces("/clients/{client:str}/secrets/{name:str}", "Store a client's secret", 409, scope="admin")
async def put_secret(
    client: ClientName, name: SecretName, data: JSONBody[SecretValue], database: Pooled, ring: Ring, actor: Actor
) -> SecretChanged:
    """Attempts that start a moment later use the new value."""
    await database.ask(secrets.put, ring, client, name, data.value, hosts=data.hosts, actor=actor)
    return SecretChanged(client=client, name=name, changed=True)


@removes("/clients/{client:str}/secrets/{name:str}", "Drop a client's secret", scope="admin")
async def drop_secret(client: ClientName, name: SecretName, database: Pooled, actor: Actor) -> SecretChanged:
    """Later attempts that refer to the secret fail, and are retried."""
    changed = await database.ask(verbs.drop_secret, client, name, actor=actor)
    return SecretChanged(client=client, name=name, changed=changed)
