"""``pgsched dead-letters replays`` and ``cancel-replay``: replays of many, and how far they are."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed, fill, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.parameters import identity

_COLUMNS = ("id", "state", "rate", "replayed", "passed_over", "filter", "target", "actor", "created_at")


@command(name="replays")
@page_options()
async def list_replays(desk: Any, limit: int, after: str | None) -> Answer:
    """List replays of many dead letters with their progress, newest first."""
    page, note = await fill(desk.list_replays, limit, after)
    return listed(page, _COLUMNS, "no replays", note=note)


@command()
@click.argument("id", metavar="REPLAY", type=identity)
@actor_option
async def cancel_replay(desk: Any, id: UUID) -> Answer:
    """Cancel a replay of many; those not yet replayed stay dead letters."""
    return changed(await desk.cancel_replay(id), "cancelled", "had ended before", id=id)
