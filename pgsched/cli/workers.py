"""``pgsched workers``: who is at work, and who shall begin nothing more."""

from typing import Any

import click

from pgsched.cli.answers import Answer, cells, changed, shown
from pgsched.cli.commands import command
from pgsched.cli.options import note_and_actor
from pgsched.cli.reply import table
from pgsched.store.admin import draining as store

_COLUMNS = ("id", "name", "state", "queues", "in_hand", "concurrency", "release", "started_at", "reason")
_NUMBER = click.argument("worker", type=click.IntRange(1, 2**31 - 1))

workers = click.Group("workers", help="List, show, drain and resume workers.")


@command(workers, "list")
async def list_workers(connection: Any) -> Answer:
    """List workers; what each has in hand is counted among the oldest due executions."""
    found = await store.all_workers(connection)
    return Answer({"items": found}, table(_COLUMNS, cells(_COLUMNS, found)) if found else "no workers")


@command(workers)
@_NUMBER
async def show(connection: Any, worker: int) -> Answer:
    """Show one worker and what it can deliver."""
    return shown(await store.get_worker(connection, worker))


@command(workers)
@_NUMBER
@note_and_actor
async def drain(connection: Any, worker: int, **said: Any) -> Answer:
    """Drain a worker: it starts nothing more and finishes what it has in hand."""
    return changed(await store.drain_worker(connection, worker, **said), "drains", "was told so before", id=worker)


@command(workers)
@_NUMBER
@note_and_actor
async def resume(connection: Any, worker: int, **said: Any) -> Answer:
    """Resume a drained worker."""
    return changed(await store.resume_worker(connection, worker, **said), "resumed", "was not drained", id=worker)
