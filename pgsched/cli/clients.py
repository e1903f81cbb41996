"""``pgsched clients``: what is set for clients."""

import dataclasses
from typing import Any

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.parameters import ASSIGNMENT
from pgsched.cli.reply import Reply, json_option, listing, table
from pgsched.cli.secrets import drop_secret, rotate_secret
from pgsched.cli.setting import actor_option, ask_with, changes_in, said_options

_COLUMNS = ("client", "state", "weight", "keep", "options", "database_role", "reason")
_SETTINGS = ("keep", "options", "weight", "database_role", "dead_letter_target", "dead_letters_for")
_CLEARABLE = tuple(name.replace("_", "-") for name in _SETTINGS)


@click.group()
def clients() -> None:
    """List, show, set, hold and release clients, and rotate their signing secrets."""


@clients.command("list")
@settings_options(DATABASE)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", metavar="NAME", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_clients(reply: Reply, /, limit: int, after: str | None, **given: Any) -> None:
    """List the clients that something is set for."""
    from pgsched.store.admin import clients

    found = ask_with(given, lambda connection: clients.all_clients(connection, limit=limit, after=after))
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    following = found[-1].client if len(found) == limit else None
    items = [dataclasses.asdict(row) for row in found]
    reply.give({"items": items, "next": following}, table(_COLUMNS, rows) if rows else "no clients")


@clients.command()
@settings_options(DATABASE)
@click.argument("client")
@json_option
@click.pass_obj
def show(reply: Reply, /, client: str, **given: Any) -> None:
    """Show what is set for a client; signing secrets by their last characters."""
    from pgsched.store.admin import clients

    found = dataclasses.asdict(ask_with(given, lambda connection: clients.get_client(connection, client)))
    reply.give(found, listing(found))


@clients.command("set")
@settings_options(DATABASE)
@click.argument("client")
@click.option("--keep", metavar="WHAT", help="What history keeps of it: all, failures or nothing.")
@click.option(
    "--option", "options", type=ASSIGNMENT, multiple=True, metavar="NAME=VALUE", help="All defaults of its executions."
)
@click.option("--weight", type=int, metavar="NUMBER", help="Its share where workers are saturated, from 1 to 100.")
@click.option("--database-role", metavar="ROLE", help="The role that acts for it in SQL.")
@click.option("--dead-letter-target", metavar="TARGET", help="What is told of its dead letters.")
@click.option("--dead-letters-for", metavar="DURATION", help="How long they are kept, such as 90d.")
@click.option("--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Back to its default.")
@actor_option
@json_option
@click.pass_obj
def set_client(reply: Reply, /, client: str, actor: str | None, **given: Any) -> None:
    """Set something for a client: only what is named."""
    from pgsched.store.admin import clients

    changes = changes_in(given, _SETTINGS)
    changed = ask_with(given, lambda connection: clients.set_client(connection, client, changes, actor=actor))
    reply.give({"client": client, "changed": changed}, "set" if changed else "was so before")


@clients.command()
@settings_options(DATABASE)
@click.argument("client")
@said_options
@json_option
@click.pass_obj
def hold(reply: Reply, /, client: str, note: str | None, actor: str | None, **given: Any) -> None:
    """Begin nothing more of a client until it is released."""
    from pgsched.store.admin import clients

    changed = ask_with(given, lambda connection: clients.hold_client(connection, client, note=note, actor=actor))
    reply.give({"client": client, "changed": changed}, "held" if changed else "was held already")


@clients.command()
@settings_options(DATABASE)
@click.argument("client")
@said_options
@json_option
@click.pass_obj
def release(reply: Reply, /, client: str, note: str | None, actor: str | None, **given: Any) -> None:
    """End the hold of a client."""
    from pgsched.store.admin import clients

    changed = ask_with(given, lambda connection: clients.release_client(connection, client, note=note, actor=actor))
    reply.give({"client": client, "changed": changed}, "released" if changed else "was not held")


@clients.command()
@settings_options(DATABASE)
@click.argument("client")
@actor_option
@json_option
@click.pass_obj
def drop(reply: Reply, /, client: str, actor: str | None, **given: Any) -> None:
    """Forget what is set for a client; its jobs and executions stay."""
    from pgsched.store.admin import clients

    changed = ask_with(given, lambda connection: clients.drop_client(connection, client, actor=actor))
    reply.give({"client": client, "changed": changed}, "dropped" if changed else "nothing was set")


for _command in (rotate_secret, drop_secret):
    clients.add_command(_command)
