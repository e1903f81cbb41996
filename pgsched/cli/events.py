"""``pgsched events``: the outcomes of executions, in the order in which they became visible."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, tabled
from pgsched.cli.command_decorators import command
from pgsched.cli.id_or_key import of_job
from pgsched.cli.options import limit_option, only, status_option
from pgsched.domain.duration import parse_duration
from pgsched.domain.states import END_STATUSES

_COLUMNS = ("finished_at", "id", "client", "key", "status", "attempt", "status_code", "target", "reason")


@command()
@only("client")
@status_option(END_STATUSES)
@only("queue")
@of_job
@only("key")
@click.option(
    "--since", metavar="DURATION", default="1h", show_default=True, help="Only executions that ended this recently."
)
@click.option(
    "--after",
    metavar="ID",
    help="Only events after this one; an event's id, or the value of next from the previous page.",
)
@limit_option
async def events(backend: Any, limit: int, after: str | None, since: str, **wanted: Any) -> Answer:
    """List the outcomes of executions, oldest first, in the order in which they became visible."""
    page = await backend.list_events(after=after, since=parse_duration(since), limit=limit, **wanted)
    return tabled(page, _COLUMNS, "no executions have ended")
