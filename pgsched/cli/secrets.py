"""``pgsched admin secrets``: secrets that options refer to by name, and that cannot be read back.

Values are read from standard input or a prompt, because every user of a machine can read process arguments.
"""

import sys
from functools import partial
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, listed
from pgsched.cli.command_decorators import command, database_command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.reply import Reply, json_option
from pgsched.sealing import KeyRing, new_key
from pgsched.settings import Settings
from pgsched.store.admin import secrets as store

_COLUMNS = ("name", "hosts", "created_at", "updated_at")

secrets = CommandGroup("secrets")


@command(secrets)
@click.argument("client")
@click.argument("name")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="Host that may get the secret; repeatable.  [default: the previous hosts; none for a new secret]",
)
@actor_option
async def put(backend: Any, client: str, name: str, hosts: tuple[str, ...]) -> Answer:
    """Store a secret of CLIENT as NAME, from standard input or a prompt.

    The secret is sent only to the given hosts. Include a host's port unless it is 80 or 443.
    """
    text = click.prompt("Value", hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\r\n")
    made = await backend.store_secret(client, name, text, hosts=hosts or None)
    return Answer({"client": client, "name": name, "made": made}, "put" if made else "replaced")


@command(secrets, "list")
@click.argument("client")
@page_options(str, "NAME")
async def list_secrets(backend: Any, client: str, limit: int, after: str | None) -> Answer:
    """List the secrets of CLIENT by their names."""
    return await listed(partial(backend.list_secrets, client), limit, after, _COLUMNS, "no secrets")


@command(secrets)
@click.argument("client")
@click.argument("name")
@actor_option
async def drop(backend: Any, client: str, name: str) -> Answer:
    """Delete a secret. Later attempts that refer to it fail."""
    return changed(await backend.drop_secret(client, name), "dropped", "did not exist", client=client, name=name)


@database_command(secrets, with_settings=True)
async def reseal(connection: Any, settings: Settings) -> Answer:
    """Encrypt all secrets with the first key in secret_keys, so that the others can be removed."""
    done = await store.reseal_all(connection, KeyRing.parse(settings.secret_keys))
    return Answer({"resealed": done}, f"{done} resealed")


@secrets.command("new-key")
@json_option
@click.pass_obj
def make_key(reply: Reply, /) -> None:
    """Print a new key for secret_keys."""
    key = new_key()
    reply.give({"key": key}, key)
