"""``pgsched queues``: queues and what is set for them."""

import dataclasses
from typing import Any

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.parameters import ASSIGNMENT
from pgsched.cli.reply import Command, Reply, json_option, listing, table
from pgsched.cli.setting import actor_option, ask_with, changes_in, said_options, some_changes_in

_COLUMNS = ("name", "pulled", "waiting", "max_waiting", "full_since", "paused_at", "reason", "weight", "options")
_SETTINGS = ("options", "weight", "max_waiting")
_CLEARABLE = ("options", "weight", "max-waiting")


def _queue_options(command: Command) -> Command:
    for decorate in (
        click.option("--max-waiting", type=int, metavar="NUMBER", help="So many may wait; scheduling more is refused."),
        click.option("--weight", type=int, metavar="NUMBER", help="Its share in a worker of several queues, 1 to 100."),
        click.option(
            "--option", "options", type=ASSIGNMENT, multiple=True, metavar="NAME=VALUE", help="All its defaults."
        ),
    ):
        command = decorate(command)
    return command


@click.group()
def queues() -> None:
    """List, show, create, set, pause, resume and drop queues."""


@queues.command("list")
@settings_options(DATABASE)
@json_option
@click.pass_obj
def list_queues(reply: Reply, /, **given: Any) -> None:
    """List the queues; what waits in each is counted up to 10,000."""
    from pgsched.store.admin import queues

    found = ask_with(given, queues.all_queues)
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    reply.give({"items": [dataclasses.asdict(row) for row in found]}, table(_COLUMNS, rows))


@queues.command()
@settings_options(DATABASE)
@click.argument("name")
@json_option
@click.pass_obj
def show(reply: Reply, /, name: str, **given: Any) -> None:
    """Show one queue."""
    from pgsched.store.admin import queues

    found = dataclasses.asdict(ask_with(given, lambda connection: queues.get_queue(connection, name)))
    reply.give(found, listing(found))


@queues.command()
@settings_options(DATABASE)
@click.argument("name")
@click.option("--pulled", is_flag=True, help="Consumers pull from it; workers leave it alone.")
@_queue_options
@actor_option
@json_option
@click.pass_obj
def create(reply: Reply, /, name: str, pulled: bool, actor: str | None, **given: Any) -> None:
    """Make a queue, while everything goes on. Workers serve it that are started with its name."""
    from pgsched.store.admin import queues
    from pgsched.store.core.room import find_room

    settings = changes_in(given, _SETTINGS) | ({"pulled": True} if pulled else {})

    async def make(connection: Any) -> str | None:
        await queues.create_queue(connection, name, settings, actor=actor)
        return (await find_room(connection)).advice()

    advice = ask_with(given, make)
    how = "consumers claim from it" if pulled else f"serve it by pgsched worker --queues {name}"
    reply.give({"name": name}, f"created; {how}")
    if advice:
        reply.note(advice)


@queues.command("set")
@settings_options(DATABASE)
@click.argument("name")
@_queue_options
@click.option("--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Back to its default.")
@actor_option
@json_option
@click.pass_obj
def set_queue(reply: Reply, /, name: str, actor: str | None, **given: Any) -> None:
    """Set something for a queue: only what is named."""
    from pgsched.store.admin import queues

    changes = some_changes_in(given, _SETTINGS, "--max-waiting 100000")
    changed = ask_with(given, lambda connection: queues.set_queue(connection, name, changes, actor=actor))
    reply.give({"name": name, "changed": changed}, "set" if changed else "was so before")


@queues.command()
@settings_options(DATABASE)
@click.argument("name")
@said_options
@json_option
@click.pass_obj
def pause(reply: Reply, /, name: str, note: str | None, actor: str | None, **given: Any) -> None:
    """Have workers begin nothing more of a queue."""
    from pgsched.store.admin import queues

    changed = ask_with(given, lambda connection: queues.pause_queue(connection, name, note=note, actor=actor))
    reply.give({"name": name, "changed": changed}, "paused" if changed else "was paused already")


@queues.command()
@settings_options(DATABASE)
@click.argument("name")
@said_options
@json_option
@click.pass_obj
def resume(reply: Reply, /, name: str, note: str | None, actor: str | None, **given: Any) -> None:
    """End the pause of a queue."""
    from pgsched.store.admin import queues

    changed = ask_with(given, lambda connection: queues.resume_queue(connection, name, note=note, actor=actor))
    reply.give({"name": name, "changed": changed}, "resumed" if changed else "was not paused")


@queues.command()
@settings_options(DATABASE)
@click.argument("name")
@actor_option
@json_option
@click.pass_obj
def drop(reply: Reply, /, name: str, actor: str | None, **given: Any) -> None:
    """Drop a queue in which nothing waits or runs; its history stays."""
    from pgsched.store.admin import queues

    ask_with(given, lambda connection: queues.drop_queue(connection, name, actor=actor))
    reply.give({"name": name, "changed": True}, "dropped")
