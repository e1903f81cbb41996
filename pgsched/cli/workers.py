"""``pgsched workers``: lists, drains and resumes workers."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, cells, shown
from pgsched.cli.command_decorators import command, switch
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.reply import table

_COLUMNS = ("id", "name", "state", "queues", "in_hand", "concurrency", "release", "started_at", "reason")
_NUMBER = click.argument("id", metavar="WORKER", type=click.IntRange(1, 2**31 - 1))

workers = CommandGroup("workers")


@command(workers, "list")
async def list_workers(backend: Any) -> Answer:
    """List workers. The in_hand counts include only the oldest due executions."""
    found = await backend.list_workers()
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)) if found else "no workers")


@command(workers)
@_NUMBER
async def show(backend: Any, id: int) -> Answer:
    """Show one worker and what it can deliver."""
    return shown(await backend.get_worker(id))


_DRAINS = "Drain a worker: it starts no further executions and finishes those in flight."
switch(workers, _NUMBER, "drain_worker", _DRAINS, "draining", "was already draining")
switch(workers, _NUMBER, "resume_worker", "Resume a drained worker.", "resumed", "was not drained")
