"""``pgsched ordering-keys``: keys that wait for a decision."""

from typing import Any
from uuid import UUID

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, only_client, page_options
from pgsched.store.gates import blocked_keys

_COLUMNS = ("client", "ordering_key", "queue", "waiting", "blocked_at", "execution_id", "reason")

ordering_keys = click.Group("ordering-keys", help="List and unblock ordering keys that a failed execution blocks.")


@command(ordering_keys)
@only_client
@page_options()
async def blocked(connection: Any, client: str | None, limit: int, after: UUID | None) -> Answer:
    """List blocked ordering keys, newest first."""
    found = await blocked_keys.blocked_keys(connection, limit=limit + 1, client=client, after=after)
    return listed(page_of(found, limit, lambda row: row.execution_id), _COLUMNS, "no ordering key is blocked")


@command(ordering_keys)
@click.argument("client")
@click.argument("ordering_key")
@actor_option
async def unblock(connection: Any, client: str, ordering_key: str, actor: str | None) -> Answer:
    """Unblock a CLIENT's ordering key: its executions continue without the one that failed."""
    done = await blocked_keys.unblock(connection, client, ordering_key, actor=actor)
    return changed(done, "unblocked", "was not blocked", client=client, ordering_key=ordering_key)
