"""``pgsched queues``: queues and their settings."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, cells, changed, changes_in, shown
from pgsched.cli.command_decorators import command, switch
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, many_option, options
from pgsched.cli.reply import table

_COLUMNS = ("name", "pulled", "waiting", "max_waiting", "full_since", "paused_at", "reason", "weight", "options")
_queue_options = options(
    many_option("--option", "Default option for executions; repeatable. Those given replace all current ones."),
    click.option("--weight", type=int, metavar="NUMBER", help="Weight in workers that serve several queues, 1 to 100."),
    click.option(
        "--max-waiting", type=int, metavar="NUMBER", help="Maximum waiting executions; scheduling more is refused."
    ),
)

queues = CommandGroup("queues")


@command(queues, "list")
async def list_queues(backend: Any) -> Answer:
    """List queues. Waiting executions are counted up to 10,000."""
    found = await backend.list_queues()
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)))


@command(queues)
@click.argument("name")
async def show(backend: Any, name: str) -> Answer:
    """Show one queue."""
    return shown(await backend.get_queue(name))


@command(queues)
@click.argument("name")
@click.option("--pulled", is_flag=True, help="Create a queue that consumers pull from; workers do not serve it.")
@_queue_options
@actor_option
async def create(backend: Any, name: str, pulled: bool, **given: Any) -> Answer:
    """Create a queue. Workers that are started with its name serve it."""
    advice = await backend.add_queue(name, pulled=pulled, settings=changes_in(given))
    how = "consumers claim from it" if pulled else f"serve it with pgsched worker --queues {name}"
    return Answer({"name": name}, f"created; {how}", advice)


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
async def set_queue(backend: Any, name: str, **given: Any) -> Answer:
    """Change the given settings of a queue."""
    changes = changes_in(given, "--max-waiting 100000")
    return changed(await backend.change_queue(name, changes), "set", "unchanged", name=name)


_NAME = click.argument("name")
_PAUSES = "Pause a queue: workers start no further executions from it."
switch(queues, _NAME, "pause_queue", _PAUSES, "paused", "was already paused")
switch(queues, _NAME, "resume_queue", "Resume a paused queue.", "resumed", "was not paused")


@command(queues)
@click.argument("name")
@actor_option
async def drop(backend: Any, name: str) -> Answer:
    """Drop a queue in which nothing waits or runs. Its history stays."""
    await backend.drop_queue(name)
    return changed(True, "dropped", "", name=name)
