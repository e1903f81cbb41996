"""``pgsched limits``: how many executions may begin in a while, or run at once."""

from typing import Any

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, changed, listed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, page_options
from pgsched.domain.duration import parse_duration
from pgsched.domain.states import LIMIT_KINDS
from pgsched.store.gates import limits as store

_COLUMNS = ("kind", "name", "rate", "per", "burst", "concurrency")
_KIND = click.Choice(LIMIT_KINDS)

limits = click.Group("limits", help="List, set and drop limits of clients, hosts, queues and keys.")


@command(limits, "list")
@click.option("--kind", type=_KIND, help="Only these.")
@page_options(str, "KIND:NAME")
async def list_limits(connection: Any, kind: str | None, limit: int, after: str | None) -> Answer:
    """List the limits that are set."""
    found = await store.all_limits(connection, limit=limit + 1, after=after, kind=kind)
    return listed(page_of(found, limit, lambda row: f"{row.kind}:{row.name}"), _COLUMNS, "no limits")


@command(limits, "set")
@click.argument("kind", type=_KIND)
@click.argument("name")
@click.option("--rate", type=int, metavar="NUMBER", help="Executions that may start in each --per.")
@click.option("--per", default="1s", show_default=True, metavar="DURATION", help="Period that --rate applies to.")
@click.option(
    "--burst", type=int, metavar="NUMBER", help="Executions that may start at once after a quiet period.  [default: 1]"
)
@click.option("--concurrency", type=int, metavar="NUMBER", help="Executions that may run at once.")
@actor_option
async def set_limit(connection: Any, kind: str, name: str, actor: str | None, per: str, **numbers: Any) -> Answer:
    """Set the limit of a client, host, queue or key (KIND). It replaces the previous one."""
    amount = store.Amount(per=parse_duration(per), **numbers)
    done = await store.set_limit(connection, kind, name, amount, actor=actor)
    return changed(done, "set", "was so before", kind=kind, name=name)


@command(limits)
@click.argument("kind", type=_KIND)
@click.argument("name")
@actor_option
async def drop(connection: Any, kind: str, name: str, actor: str | None) -> Answer:
    """Remove a limit: what it held back continues."""
    done = await store.drop_limit(connection, kind, name, actor=actor)
    return changed(done, "dropped", "there was none", kind=kind, name=name)
