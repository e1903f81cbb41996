"""``pgsched dead-letters replays`` and ``cancel-replay``: replays of many, and how far they are."""

import dataclasses
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY
from pgsched.cli.reply import Reply, json_option, table

_COLUMNS = ("id", "state", "rate", "replayed", "passed_over", "filter", "target", "actor", "created_at")


@click.command()
@settings_options(DATABASE)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def replays(reply: Reply, /, limit: int, after: UUID | None, **flags: Any) -> None:
    """List the replays of many and how far they are, newest first."""
    from pgsched.cli.database import ask
    from pgsched.store.ends import dead_letters

    settings = with_database(load_settings(flags))
    found = ask(settings, lambda connection: dead_letters.list_replays(connection, limit=limit, after=after))
    items = [dataclasses.asdict(row) for row in found]
    rows = [[bytes(item[name]).decode() if name == "filter" else item[name] for name in _COLUMNS] for item in items]
    following = found[-1].id if len(found) == limit else None
    reply.give({"items": items, "next": following}, table(_COLUMNS, rows) if rows else "no replays")


@click.command("cancel-replay")
@settings_options(DATABASE)
@click.argument("id", metavar="REPLAY", type=IDENTITY)
@click.option("--actor", metavar="NAME", help="Who does it, for the audit log.  [default: the role]")
@json_option
@click.pass_obj
def cancel_replay(reply: Reply, /, id: UUID, actor: str | None, **flags: Any) -> None:
    """Cancel a replay of many: what it has not replayed yet stays a dead letter."""
    from pgsched.cli.database import ask
    from pgsched.store.ends import dead_letters

    settings = with_database(load_settings(flags))
    done = ask(settings, lambda connection: dead_letters.cancel_replay(connection, id, actor=actor))
    reply.give({"id": id, "changed": done}, "cancelled" if done else "had ended before")
