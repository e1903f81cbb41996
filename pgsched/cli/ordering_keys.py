"""``pgsched executions blocked`` and ``unblock``: ordering keys that wait for a decision."""

from functools import partial
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, fill, listed
from pgsched.cli.command_decorators import command
from pgsched.cli.options import actor_option, only_client, page_options

_COLUMNS = ("client", "ordering_key", "queue", "waiting", "blocked_at", "execution_id", "reason")


@command()
@only_client
@page_options()
async def blocked(backend: Any, client: str | None, limit: int, after: str | None) -> Answer:
    """List the ordering keys that a failed execution blocks, newest first."""
    page, note = await fill(partial(backend.list_blocked, client=client), limit, after)
    return listed(page, _COLUMNS, "no ordering key is blocked", note=note)


@command()
@click.argument("client")
@click.argument("ordering_key")
@actor_option
async def unblock(backend: Any, client: str, ordering_key: str) -> Answer:
    """Unblock a CLIENT's ordering key: its executions continue without the one that failed."""
    done = await backend.unblock(client, ordering_key)
    return changed(done, "unblocked", "was not blocked", client=client, ordering_key=ordering_key)
