"""``pgsched ordering-keys``: keys that wait for a decision."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.parameters import IDENTITY
from pgsched.cli.reply import Reply, json_option, table
from pgsched.cli.setting import actor_option, ask_with

_COLUMNS = ("client", "ordering_key", "queue", "waiting", "blocked_at", "execution_id", "reason")


@click.group("ordering-keys")
def ordering_keys() -> None:
    """List ordering keys that an execution blocks which failed for good, and let them go on."""


@ordering_keys.command()
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def blocked(reply: Reply, /, client: str | None, limit: int, after: UUID | None, **given: Any) -> None:
    """List the ordering keys that are blocked, the newest first."""
    from pgsched.store.gates import blocked_keys

    found = ask_with(
        given, lambda connection: blocked_keys.blocked_keys(connection, limit=limit, client=client, after=after)
    )
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    following = found[-1].execution_id if len(found) == limit else None
    reply.give({"items": found, "next": following}, table(_COLUMNS, rows) if rows else "no ordering key is blocked")


@ordering_keys.command()
@settings_options(DATABASE)
@click.argument("client")
@click.argument("ordering_key")
@actor_option
@json_option
@click.pass_obj
def unblock(reply: Reply, /, client: str, ordering_key: str, actor: str | None, **given: Any) -> None:
    """Let the executions of a CLIENT's ordering key go on, without the one that failed."""
    from pgsched.store.gates import blocked_keys

    changed = ask_with(given, lambda connection: blocked_keys.unblock(connection, client, ordering_key, actor=actor))
    text = "unblocked" if changed else "was not blocked"
    reply.give({"client": client, "ordering_key": ordering_key, "changed": changed}, text)
