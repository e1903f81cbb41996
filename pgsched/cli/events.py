"""``pgsched events``: what has become of executions, in the order in which it could be seen."""

from datetime import UTC, datetime
from typing import Any

import click

from pgsched.cli.answers import Answer, listed
from pgsched.cli.commands import command
from pgsched.cli.options import limit_option, only_client
from pgsched.cli.parameters import identity
from pgsched.domain.duration import parse_duration
from pgsched.domain.position import Position
from pgsched.domain.states import END_STATUSES, each_once
from pgsched.store.lookup.rows import EventFilter

_COLUMNS = ("finished_at", "id", "client", "key", "status", "attempt", "status_code", "target", "reason")


@command()
@only_client
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(END_STATUSES), help="Only this status; repeatable."
)
@click.option("--queue", metavar="NAME", help="Only of this queue.")
@click.option("--job", type=identity, metavar="ID", help="Only of this job.")
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
    connection: Any, limit: int, after: str | None, since: str, statuses: tuple[str, ...], **given: Any
) -> Answer:
    """List the outcomes of executions, oldest first, in the order in which they became visible."""
    from pgsched.answers import Page
    from pgsched.store.lookup.events import horizon, list_events

    now = await horizon(connection)
    start = None if after else datetime.fromtimestamp(now.at, UTC) - parse_duration(since)
    position = Position.beginning(start) if start is not None else Position.parse(str(after))
    position.check(now)
    wanted = EventFilter(statuses=each_once(statuses), **given)
    items, end = await list_events(connection, wanted, position, now, limit=limit, since=start)
    return listed(Page(items=items, next=str(end)), _COLUMNS, "nothing has ended")
