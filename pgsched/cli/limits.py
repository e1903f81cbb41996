"""``pgsched limits``: how many executions may begin in a while, or run at once."""

import dataclasses
from typing import Any

import click

from pgsched.cli.configuration import DATABASE, settings_options
from pgsched.cli.reply import Reply, json_option, table
from pgsched.cli.setting import actor_option, ask_with

_COLUMNS = ("kind", "name", "rate", "per", "burst", "concurrency")
_KIND = click.Choice(["client", "host", "queue", "key"])


@click.group()
def limits() -> None:
    """List, set and drop limits of clients, hosts, queues and keys."""


@limits.command("list")
@settings_options(DATABASE)
@click.option("--kind", type=_KIND, help="Only these.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", metavar="KIND:NAME", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_limits(reply: Reply, /, kind: str | None, limit: int, after: str | None, **given: Any) -> None:
    """List the limits that are set."""
    from pgsched.store.gates import limits

    found = ask_with(given, lambda connection: limits.all_limits(connection, limit=limit, after=after, kind=kind))
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    following = f"{found[-1].kind}:{found[-1].name}" if len(found) == limit else None
    items = [dataclasses.asdict(row) for row in found]
    reply.give({"items": items, "next": following}, table(_COLUMNS, rows) if rows else "no limits")


@limits.command("set")
@settings_options(DATABASE)
@click.argument("kind", type=_KIND)
@click.argument("name")
@click.option("--rate", type=int, metavar="NUMBER", help="So many may begin in each --per.")
@click.option("--per", default="1s", show_default=True, metavar="DURATION", help="The time --rate is for.")
@click.option("--burst", type=int, metavar="NUMBER", help="So many of them at once after a lull.  [default: 1]")
@click.option("--concurrency", type=int, metavar="NUMBER", help="So many may run at once.")
@actor_option
@json_option
@click.pass_obj
def set_limit(reply: Reply, /, kind: str, name: str, actor: str | None, per: str, **given: Any) -> None:
    """Set the limit of a KIND, which is client, host, queue or key. It takes the place of the one there was."""
    from pgsched.domain.duration import parse_duration
    from pgsched.store.gates import limits

    numbers = {name: given.pop(name) for name in ("rate", "burst", "concurrency")}
    amount = limits.Amount(per=parse_duration(per), **numbers)
    changed = ask_with(given, lambda connection: limits.set_limit(connection, kind, name, amount, actor=actor))
    reply.give({"kind": kind, "name": name, "changed": changed}, "set" if changed else "was so before")


@limits.command()
@settings_options(DATABASE)
@click.argument("kind", type=_KIND)
@click.argument("name")
@actor_option
@json_option
@click.pass_obj
def drop(reply: Reply, /, kind: str, name: str, actor: str | None, **given: Any) -> None:
    """Take a limit away: what it held back goes on."""
    from pgsched.store.gates import limits

    changed = ask_with(given, lambda connection: limits.drop_limit(connection, kind, name, actor=actor))
    reply.give({"kind": kind, "name": name, "changed": changed}, "dropped" if changed else "there was none")
