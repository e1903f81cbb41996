"""``pgsched targets``: target hosts that are left alone."""

from datetime import datetime
from typing import Any

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, note_and_actor, only_client, page_options
from pgsched.cli.parameters import instant
from pgsched.store.gates import targets as store

_COLUMNS = ("host", "client", "state", "failing_since", "until", "openings", "held", "reason")
_for_client = click.option("--client", metavar="NAME", help="Only for this client.  [default: for all]")

targets = click.Group("targets", help="List, sideline and restore target hosts.")


@command(targets, "list")
@only_client
@page_options(str, "GATE")
async def list_targets(connection: Any, client: str | None, limit: int, after: str | None) -> Answer:
    """List the hosts that fail, recover, or were sidelined by hand."""
    found = await store.sidelined(connection, limit=limit + 1, client=client, after=after)
    return listed(page_of(found, limit, lambda row: row.gate), _COLUMNS, "no target is left alone")


@command(targets)
@click.argument("host")
@_for_client
@click.option(
    "--until",
    type=instant,
    metavar="INSTANT",
    help="Restore it at this instant.  [default: when it is restored by hand]",
)
@note_and_actor
async def sideline(connection: Any, host: str, client: str | None, until: datetime | None, **said: Any) -> Answer:
    """Stop calling a HOST; what is due waits.

    HOST has its port, as in shop.example:8443, where the targets' URLs have one.
    """
    done = await store.sideline(connection, host, client=client, until=until, **said)
    return changed(done, "sidelined", "was sidelined already", host=host, client=client)


@command(targets)
@click.argument("host")
@_for_client
@actor_option
async def restore(connection: Any, host: str, client: str | None, actor: str | None) -> Answer:
    """Call a HOST again: a few executions per second at first, then more and more."""
    done = await store.restore(connection, host, client=client, actor=actor)
    return changed(done, "restored", "was not sidelined", host=host, client=client)
