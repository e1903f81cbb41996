"""``pgsched schedule``: one call of the SQL function of the same name."""

from typing import Any

import click

from pgsched.cli.answers import Answer
from pgsched.cli.commands import command
from pgsched.cli.options import defaults_option
from pgsched.cli.parameters import assignment, json_text, label


@command()
@click.argument("target")
@click.option("--at", metavar="INSTANT", help="Once, at this instant: ISO 8601 with an offset.")
@click.option("--delay", metavar="DURATION", help="Once, this long from now, such as 10m or PT10M.")
@click.option("--cron", metavar="EXPRESSION", help="Again and again: five fields, or six with seconds first.")
@click.option("--every", metavar="DURATION", help="Again and again, this far apart, such as 15m.")
@click.option("--timezone", metavar="ZONE", help="Time zone of --cron, such as Europe/Berlin.  [default: UTC]")
@click.option("--gap", metavar="POLICY", help="--cron, hour left out in spring: shift or skip.  [default: shift]")
@click.option(
    "--overlap", metavar="POLICY", help="--cron, hour twice in autumn: first, second, both.  [default: first]"
)
@click.option(
    "--payload", type=json_text, metavar="JSON", help="Payload to deliver; @FILE reads a file, - standard input."
)
@click.option("--client", default="default", show_default=True, metavar="NAME", help="Whose it is.")
@click.option("--key", metavar="KEY", help="Name, unique for the client.")
@click.option(
    "--on-conflict",
    default="replace",
    show_default=True,
    metavar="POLICY",
    help="Where --key is taken: replace, keep, reject, debounce.",
)
@click.option(
    "--ordering-key", metavar="KEY", help="Executions that share it are delivered one at a time and in order."
)
@click.option("--queue", default="default", show_default=True, metavar="NAME", help="Queue to put it in.")
@defaults_option("Delivery option, such as timeout=5s.")
@click.option(
    "--rule", "rules", type=assignment, multiple=True, metavar="NAME=VALUE", help="How it recurs, such as jitter=5m."
)
@click.option(
    "--label", "labels", type=label, multiple=True, metavar="NAME=TEXT", help="Label by which jobs are found."
)
@click.option(
    "--after", multiple=True, metavar="ID-or-KEY", help="Wait until this execution has succeeded; repeatable."
)
@click.option(
    "--after-outcome", default="success", show_default=True, metavar="OUTCOME", help="--after: success, or any end."
)
async def schedule(connection: Any, target: str, **given: Any) -> Answer:
    """Schedule a call of TARGET: once, now or later, or again and again.

    TARGET is one URI, such as https://host/path or python:name. Prints the id; with --json also whether that is of
    something created, replaced, existing or ended.
    """
    from pgsched.store.schedule import calls
    from pgsched.store.schedule.order import order_of

    for name in ("options", "rules", "labels"):
        given[name] = dict(given[name]) or None
    order = order_of(target, given | {"after": list(given["after"]) or None})
    placed = await calls.schedule(connection, order)
    kind = "job" if order.when.recurs else "execution"
    return Answer({"id": placed.id, "kind": kind, "outcome": placed.outcome}, str(placed.id))
