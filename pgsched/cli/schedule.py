"""``pgsched schedule``: calls the SQL function of the same name, or the API."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer
from pgsched.cli.command_decorators import command
from pgsched.cli.options import many_option, ordering_key_option, payload_option, recurrence_options
from pgsched.cli.parameters import label

_NOT_SCHEDULED = {
    "existing": "nothing was scheduled: the execution or job whose id is shown already has this key",
    "ended": "nothing was scheduled: an execution with this key, whose id is shown, succeeded within the last 24 "
    "hours; give new work another key",
}


@command()
@click.argument("target")
@click.option("--fire-at", metavar="INSTANT", help="Once, at this instant: ISO 8601 with an offset.")
@click.option("--delay", metavar="DURATION", help="Once, this long from now, e.g. 10m or PT10M.")
@recurrence_options(is_new=True)
@payload_option
@click.option("--client", default="default", show_default=True, metavar="NAME", help="Client to schedule for.")
@click.option("--key", metavar="KEY", help="Key, unique per client.")
@click.option(
    "--on-conflict",
    default="replace",
    show_default=True,
    metavar="POLICY",
    help="What to do if --key is in use: replace, keep, reject or debounce.",
)
@ordering_key_option
@click.option("--queue", default="default", show_default=True, metavar="NAME", help="Queue to put it in.")
@many_option("--option", "Delivery option, such as timeout=5s; repeatable.")
@many_option("--rule", "Recurrence rule, such as jitter=5m; repeatable.")
@many_option("--label", "Label to find the execution or job by; repeatable.", label)
@click.option(
    "--after", multiple=True, metavar="ID-or-KEY", help="Wait until this execution has succeeded; repeatable."
)
@click.option(
    "--after-outcome",
    default="success",
    show_default=True,
    metavar="OUTCOME",
    help="Outcome that --after waits for: success or any.",
)
async def schedule(backend: Any, target: str, **given: Any) -> Answer:
    """Schedule a call of TARGET: once (now or later), or repeatedly.

    TARGET is a URI such as https://host/path or python:name. Prints the id; with --json, also the outcome: created,
    replaced, existing or ended.
    """
    given["after"] = list(given["after"]) or None
    placed = await backend.schedule(target, **{name: value for name, value in given.items() if value is not None})
    found = {"id": placed.id, "kind": placed.kind, "outcome": placed.outcome}
    return Answer(found, str(placed.id), _NOT_SCHEDULED.get(placed.outcome))
