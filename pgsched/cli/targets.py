"""``pgsched targets``: sidelines and restores target hosts."""

from datetime import datetime
from functools import partial
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, listed
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, note_and_actor, only, page_options
from pgsched.cli.parameters import instant

_COLUMNS = ("host", "client", "state", "failing_since", "until", "openings", "held", "reason")
_for_client = click.option("--client", metavar="NAME", help="Only for this client.  [default: all clients]")

targets = CommandGroup("targets")


@command(targets, "list")
@only("client")
@page_options(str, "GATE")
async def list_targets(backend: Any, client: str | None, limit: int, after: str | None) -> Answer:
    """List the hosts that are failing, recovering or sidelined by hand."""
    pages = partial(backend.list_sidelined, client=client)
    return await listed(pages, limit, after, _COLUMNS, "no hosts are sidelined")


@command(targets)
@click.argument("host")
@_for_client
@click.option(
    "--until",
    type=instant,
    metavar="INSTANT",
    help="Restore the host at this instant.  [default: only by hand]",
)
@note_and_actor
async def sideline(backend: Any, host: str, client: str | None, until: datetime | None, note: str | None) -> Answer:
    """Stop calling HOST; due executions wait.

    If the targets' URLs have a port, include it in HOST, as in shop.example:8443.
    """
    done = await backend.sideline(host, client=client, until=until, note=note)
    return changed(done, "sidelined", "was already sidelined", host=host, client=client)


@command(targets)
@click.argument("host")
@_for_client
@actor_option
async def restore(backend: Any, host: str, client: str | None) -> Answer:
    """Resume calls to HOST: a few executions per second at first, then at a rising rate."""
    done = await backend.restore(host, client=client)
    return changed(done, "restored", "was not sidelined", host=host, client=client)
