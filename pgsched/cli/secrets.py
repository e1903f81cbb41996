"""``pgsched secrets``: what options name and nobody may read.

A value comes by standard input or a prompt: arguments are for everybody on the machine to read.
"""

import sys
from typing import Any

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.reply import Reply, json_option
from pgsched.sealing import KeyRing, new_key
from pgsched.settings import Settings
from pgsched.store.admin import secrets as store

secrets = click.Group(
    "secrets", help="Store, list and drop secrets that headers refer to, and rotate their encryption keys."
)


@command(secrets, with_settings=True)
@click.argument("client")
@click.argument("name")
@actor_option
async def put(connection: Any, settings: Settings, client: str, name: str, actor: str | None) -> Answer:
    """Store a secret of CLIENT as NAME, from standard input or a prompt."""
    text = click.prompt("Value", hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\r\n")
    made = await store.put(connection, KeyRing.parse(settings.secret_keys), client, name, text, actor=actor)
    return Answer({"client": client, "name": name, "made": made}, "put" if made else "replaced")


@command(secrets, "list")
@click.argument("client")
@page_options(str, "NAME")
async def list_secrets(connection: Any, client: str, limit: int, after: str | None) -> Answer:
    """List the secrets of CLIENT by their names."""
    found = await store.all_secrets(connection, client, limit=limit + 1, after=after)
    columns = ("name", "created_at", "updated_at")
    return listed(page_of(found, limit, lambda row: row.name), columns, "no secrets")


@command(secrets)
@click.argument("client")
@click.argument("name")
@actor_option
async def drop(connection: Any, client: str, name: str, actor: str | None) -> Answer:
    """Delete a secret; attempts that refer to it fail from then on."""
    done = await store.drop(connection, client, name, actor=actor)
    return changed(done, "dropped", "there was none", client=client, name=name)


@command(secrets, with_settings=True)
async def reseal(connection: Any, settings: Settings) -> Answer:
    """Encrypt all secrets with the first of secret_keys, so that the others can be removed."""
    done = await store.reseal_all(connection, KeyRing.parse(settings.secret_keys))
    return Answer({"resealed": done}, f"{done} sealed anew")


@secrets.command("new-key")
@json_option
@click.pass_obj
def make_key(reply: Reply, /) -> None:
    """Print a new key for secret_keys."""
    key = new_key()
    reply.give({"key": key}, key)
