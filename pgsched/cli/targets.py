"""``pgsched targets``: target hosts that are left alone."""

from datetime import datetime
from typing import Any

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.parameters import INSTANT
from pgsched.cli.reply import Command, Reply, json_option, table
from pgsched.cli.setting import actor_option, ask_with, said_options

_COLUMNS = ("host", "client", "state", "until", "openings", "held", "reason")


def _for_client(command: Command) -> Command:
    return click.option("--client", metavar="NAME", help="For this client alone.  [default: for all]")(command)


@click.group()
def targets() -> None:
    """List target hosts that are left alone; sideline and restore them."""


@targets.command("list")
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", metavar="GATE", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_targets(reply: Reply, /, client: str | None, limit: int, after: str | None, **given: Any) -> None:
    """List the hosts that fail, recover, or were sidelined by hand."""
    from pgsched.store.gates import targets

    found = ask_with(given, lambda connection: targets.sidelined(connection, limit=limit, client=client, after=after))
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    following = found[-1].gate if len(found) == limit else None
    reply.give({"items": found, "next": following}, table(_COLUMNS, rows) if rows else "no target is left alone")


@targets.command()
@settings_options(DATABASE)
@click.argument("host")
@_for_client
@click.option("--until", type=INSTANT, metavar="INSTANT", help="Until then.  [default: until it is restored]")
@said_options
@json_option
@click.pass_obj
def sideline(
    reply: Reply,
    /,
    host: str,
    client: str | None,
    until: datetime | None,
    note: str | None,
    actor: str | None,
    **given: Any,
) -> None:
    """Call nothing more at a HOST; what is due waits."""
    from pgsched.store.gates import targets

    changed = ask_with(
        given,
        lambda connection: targets.sideline(connection, host, client=client, until=until, note=note, actor=actor),
    )
    text = "sidelined" if changed else "was sidelined already"
    reply.give({"host": host, "client": client, "changed": changed}, text)


@targets.command()
@settings_options(DATABASE)
@click.argument("host")
@_for_client
@actor_option
@json_option
@click.pass_obj
def restore(reply: Reply, /, host: str, client: str | None, actor: str | None, **given: Any) -> None:
    """Call a HOST again: a few executions a second at first, then more and more."""
    from pgsched.store.gates import targets

    changed = ask_with(given, lambda connection: targets.restore(connection, host, client=client, actor=actor))
    text = "restored" if changed else "was not sidelined"
    reply.give({"host": host, "client": client, "changed": changed}, text)
