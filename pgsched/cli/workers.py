"""``pgsched workers``: who is at work, and who shall begin nothing more."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, cells, changed, shown
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import note_and_actor
from pgsched.cli.reply import table

_COLUMNS = ("id", "name", "state", "queues", "in_hand", "concurrency", "release", "started_at", "reason")
_NUMBER = click.argument("worker", type=click.IntRange(1, 2**31 - 1))

workers = CommandGroup("workers")


@command(workers, "list")
async def list_workers(backend: Any) -> Answer:
    """List workers; what each has in hand is counted among the oldest due executions."""
    found = await backend.list_workers()
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)) if found else "no workers")


@command(workers)
@_NUMBER
async def show(backend: Any, worker: int) -> Answer:
    """Show one worker and what it can deliver."""
    return shown(await backend.get_worker(worker))


@command(workers)
@_NUMBER
@note_and_actor
async def drain(backend: Any, worker: int, note: str | None) -> Answer:
    """Drain a worker: it starts nothing more and finishes what it has in hand."""
    return changed(await backend.drain_worker(worker, note=note), "drains", "was told so before", id=worker)


@command(workers)
@_NUMBER
@note_and_actor
async def resume(backend: Any, worker: int, note: str | None) -> Answer:
    """Resume a drained worker."""
    return changed(await backend.resume_worker(worker, note=note), "resumed", "was not drained", id=worker)
