"""``pgsched dead-letters replays`` and ``cancel-replay``: replays of many, and how far they are."""

from typing import Any
from uuid import UUID

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.parameters import identity
from pgsched.store.ends import dead_letters

_COLUMNS = ("id", "state", "rate", "replayed", "passed_over", "filter", "target", "actor", "created_at")


@command(name="replays")
@page_options()
async def list_replays(connection: Any, limit: int, after: UUID | None) -> Answer:
    """List replays of many dead letters with their progress, newest first."""
    found = await dead_letters.list_replays(connection, limit=limit + 1, after=after)
    return listed(page_of(found, limit, lambda row: row.id), _COLUMNS, "no replays")


@command()
@click.argument("id", metavar="REPLAY", type=identity)
@actor_option
async def cancel_replay(connection: Any, id: UUID, actor: str | None) -> Answer:
    """Cancel a replay of many; those not yet replayed stay dead letters."""
    return changed(
        await dead_letters.cancel_replay(connection, id, actor=actor), "cancelled", "had ended before", id=id
    )
