"""``pgsched events``: what has become of executions, in the order in which it could be seen."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, listed
from pgsched.cli.command_decorators import command
from pgsched.cli.id_or_key import of_job
from pgsched.cli.options import limit_option, only_client
from pgsched.domain.duration import parse_duration
from pgsched.domain.states import END_STATUSES, each_once

_COLUMNS = ("finished_at", "id", "client", "key", "status", "attempt", "status_code", "target", "reason")


@command()
@only_client
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(END_STATUSES), help="Only this status; repeatable."
)
@click.option("--queue", metavar="NAME", help="Only of this queue.")
@of_job
@click.option("--key", metavar="KEY", help="Only those with this key.")
@click.option(
    "--since", metavar="DURATION", default="1h", show_default=True, help="Only executions that ended within this time."
)
@click.option(
    "--after",
    metavar="ID",
    help="Only events after this one: an event's id, or the value of next in the previous answer.",
)
@limit_option
async def events(
    backend: Any, limit: int, after: str | None, since: str, statuses: tuple[str, ...], **given: Any
) -> Answer:
    """List the outcomes of executions, oldest first, in the order in which they became visible."""
    wanted = given | {"status": list(each_once(statuses)) or None}
    page = await backend.list_events(after=after, since=parse_duration(since), limit=limit, **wanted)
    return listed(page, _COLUMNS, "nothing has ended")
