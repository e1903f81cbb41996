"""``pgsched limits``: limits on how many executions start in a period, or run at once."""

from functools import partial
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, listed
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option, page_options
from pgsched.domain.gate import LIMIT_KINDS

_COLUMNS = ("kind", "name", "rate", "per", "burst", "concurrency")
_KIND = click.Choice(LIMIT_KINDS)

limits = CommandGroup("limits")


@command(limits, "list")
@click.option("--kind", type=_KIND, help="Only limits of this kind.")
@page_options(str, "KIND:NAME")
async def list_limits(backend: Any, kind: str | None, limit: int, after: str | None) -> Answer:
    """List the limits that are set."""
    return await listed(partial(backend.list_limits, kind=kind), limit, after, _COLUMNS, "no limits")


@command(limits, "set")
@click.argument("kind", type=_KIND)
@click.argument("name")
@click.option("--rate", type=int, metavar="NUMBER", help="Executions that may start in each period (see --per).")
@click.option("--per", default="1s", show_default=True, metavar="DURATION", help="Period that --rate applies to.")
@click.option(
    "--burst", type=int, metavar="NUMBER", help="Executions that may start at once after a quiet period.  [default: 1]"
)
@click.option("--concurrency", type=int, metavar="NUMBER", help="Executions that may run at once.")
@actor_option
async def set_limit(backend: Any, kind: str, name: str, **amount: Any) -> Answer:
    """Set the limit of a client, host, queue or key (KIND). It replaces the previous one."""
    done = await backend.change_limit(kind, name, amount)
    return changed(done, "set", "unchanged", kind=kind, name=name)


@command(limits)
@click.argument("kind", type=_KIND)
@click.argument("name")
@actor_option
async def drop(backend: Any, kind: str, name: str) -> Answer:
    """Remove a limit. Executions that it held back continue."""
    done = await backend.drop_limit(kind, name)
    return changed(done, "dropped", "did not exist", kind=kind, name=name)
