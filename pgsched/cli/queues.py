"""``pgsched queues``: queues and what is set for them."""

from typing import Any

import click

from pgsched.cli.answers import Answer, cells, changed, changes_in, shown
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, many_option, note_and_actor, options
from pgsched.cli.reply import table
from pgsched.store.admin import queues as store
from pgsched.store.core.room import find_room

_COLUMNS = ("name", "pulled", "waiting", "max_waiting", "full_since", "paused_at", "reason", "weight", "options")
_queue_options = options(
    many_option("--option", "All its defaults."),
    click.option("--weight", type=int, metavar="NUMBER", help="Weight in workers that serve several queues, 1 to 100."),
    click.option(
        "--max-waiting", type=int, metavar="NUMBER", help="Most executions that may wait; scheduling more is refused."
    ),
)

queues = click.Group("queues", help="List, show, create, set, pause, resume and drop queues.")


@command(queues, "list")
async def list_queues(connection: Any) -> Answer:
    """List queues; waiting executions are counted up to 10,000."""
    found = await store.all_queues(connection)
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)))


@command(queues)
@click.argument("name")
async def show(connection: Any, name: str) -> Answer:
    """Show one queue."""
    return shown(await store.get_queue(connection, name))


@command(queues)
@click.argument("name")
@click.option("--pulled", is_flag=True, help="Consumers pull from it; workers do not deliver from it.")
@_queue_options
@actor_option
async def create(connection: Any, name: str, pulled: bool, actor: str | None, **given: Any) -> Answer:
    """Create a queue while everything runs. Workers started with its name serve it."""
    settings = changes_in(given) | ({"pulled": True} if pulled else {})
    await store.create_queue(connection, name, settings, actor=actor)
    how = "consumers claim from it" if pulled else f"serve it by pgsched worker --queues {name}"
    return Answer({"name": name}, f"created; {how}", (await find_room(connection)).advice())


@command(queues, "set")
@click.argument("name")
@_queue_options
@click.option(
    "--clear",
    type=click.Choice(("options", "weight", "max-waiting")),
    multiple=True,
    help="Reset this setting to its default; repeatable.",
)
@actor_option
async def set_queue(connection: Any, name: str, actor: str | None, **given: Any) -> Answer:
    """Change the given settings of a queue."""
    changes = changes_in(given, "--max-waiting 100000")
    return changed(await store.set_queue(connection, name, changes, actor=actor), "set", "was so before", name=name)


@command(queues)
@click.argument("name")
@note_and_actor
async def pause(connection: Any, name: str, **said: Any) -> Answer:
    """Pause a queue: workers start nothing more from it."""
    return changed(await store.pause_queue(connection, name, **said), "paused", "was paused already", name=name)


@command(queues)
@click.argument("name")
@note_and_actor
async def resume(connection: Any, name: str, **said: Any) -> Answer:
    """Resume a paused queue."""
    return changed(await store.resume_queue(connection, name, **said), "resumed", "was not paused", name=name)


@command(queues)
@click.argument("name")
@actor_option
async def drop(connection: Any, name: str, actor: str | None) -> Answer:
    """Drop a queue in which nothing waits or runs; its history stays."""
    await store.drop_queue(connection, name, actor=actor)
    return changed(True, "dropped", "", name=name)
