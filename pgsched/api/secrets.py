"""The secrets that options name: put, listed by their names, and dropped. Nobody is shown what is in one."""

from typing import Annotated

import msgspec
from litestar.params import JSONBody, PathParameter
from msgspec import Meta

from pgsched.api.clients import ClientName
from pgsched.api.parameters import Actor, AfterName, Limit, Pooled, Ring
from pgsched.api.routing import reads, removes, replaces
from pgsched.responses import Page, page_of
from pgsched.store import verbs
from pgsched.store.admin import secrets
from pgsched.store.admin.secrets import SecretRow

SecretName = Annotated[str, PathParameter(max_length=100, description="A secret's name.")]


class SecretValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept, and shown to nobody."""

    value: Annotated[str, Meta(min_length=1, description="At most 16384 bytes, without NUL.")]
    hosts: (
        Annotated[
            list[Annotated[str, Meta(max_length=300)]],
            Meta(max_length=20, description="The hosts to which it goes, and no other; left out, those that it had."),
        ]
        | None
    ) = None


class SecretChanged(msgspec.Struct, frozen=True, kw_only=True):
    """``changed`` is false when there was none to drop."""

    client: str
    name: str
    changed: bool


@reads("/clients/{client:str}/secrets", "List the secrets of a client", scope="admin")
async def list_secrets(
    client: ClientName, database: Pooled, limit: Limit = 50, after: AfterName = None
) -> Page[SecretRow]:
    """Returns one page, by name; pass next as after for the next page."""
    found = await database.ask(secrets.all_secrets, client, limit=limit + 1, after=after)
    return page_of(found, limit, lambda row: row.name)


@replaces("/clients/{client:str}/secrets/{name:str}", "Store a secret of a client", 409, scope="admin")
async def put_secret(
    client: ClientName, name: SecretName, data: JSONBody[SecretValue], database: Pooled, ring: Ring, actor: Actor
) -> SecretChanged:
    """Attempts that start a moment later use the new value."""
    await database.ask(secrets.put, ring, client, name, data.value, hosts=data.hosts, actor=actor)
    return SecretChanged(client=client, name=name, changed=True)


@removes("/clients/{client:str}/secrets/{name:str}", "Drop a secret of a client", scope="admin")
async def drop_secret(client: ClientName, name: SecretName, database: Pooled, actor: Actor) -> SecretChanged:
    """Attempts that refer to it fail from then on, and are retried."""
    changed = await database.ask(verbs.drop_secret, client, name, actor=actor)
    return SecretChanged(client=client, name=name, changed=changed)
