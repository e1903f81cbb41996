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
    click.option("--weight", type=int, metavar="NUMBER", help="Its share in a worker of several queues, 1 to 100."),
    click.option("--max-waiting", type=int, metavar="NUMBER", help="Number that may wait; scheduling more is refused."),
)

queues = click.Group("queues", help="List, show, create, set, pause, resume and drop queues.")


@command(queues, "list")
async def list_queues(connection: Any) -> Answer:
    """List the queues; what waits in each is counted up to 10,000."""
    found = await store.all_queues(connection)
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)))


@command(queues)
@click.argument("name")
async def show(connection: Any, name: str) -> Answer:
    """Show one queue."""
    return shown(await store.get_queue(connection, name))


@command(queues)
@click.argument("name")
@click.option("--pulled", is_flag=True, help="Consumers pull from it; workers leave it alone.")
@_queue_options
@actor_option
async def create(connection: Any, name: str, pulled: bool, actor: str | None, **given: Any) -> Answer:
    """Make a queue, while everything goes on. Workers serve it that are started with its name."""
    settings = changes_in(given) | ({"pulled": True} if pulled else {})
    await store.create_queue(connection, name, settings, actor=actor)
    how = "consumers claim from it" if pulled else f"serve it by pgsched worker --queues {name}"
    return Answer({"name": name}, f"created; {how}", (await find_room(connection)).advice())


@command(queues, "set")
@click.argument("name")
@_queue_options
@click.option(
    "--clear", type=click.Choice(("options", "weight", "max-waiting")), multiple=True, help="Back to its default."
)
@actor_option
async def set_queue(connection: Any, name: str, actor: str | None, **given: Any) -> Answer:
    """Set something for a queue: only what is named."""
    changes = changes_in(given, "--max-waiting 100000")
    return changed(await store.set_queue(connection, name, changes, actor=actor), "set", "was so before", name=name)


@command(queues)
@click.argument("name")
@note_and_actor
async def pause(connection: Any, name: str, **said: Any) -> Answer:
    """Have workers begin nothing more of a queue."""
    return changed(await store.pause_queue(connection, name, **said), "paused", "was paused already", name=name)


@command(queues)
@click.argument("name")
@note_and_actor
async def resume(connection: Any, name: str, **said: Any) -> Answer:
    """End the pause of a queue."""
    return changed(await store.resume_queue(connection, name, **said), "resumed", "was not paused", name=name)


@command(queues)
@click.argument("name")
@actor_option
async def drop(connection: Any, name: str, actor: str | None) -> Answer:
    """Drop a queue in which nothing waits or runs; its history stays."""
    await store.drop_queue(connection, name, actor=actor)
    return changed(True, "dropped", "", name=name)
