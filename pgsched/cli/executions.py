"""``pgsched executions``: those that wait, run and have finished."""

from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changed, fill, listed, shown
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.execution_edits import edit
from pgsched.cli.forecast import forecast
from pgsched.cli.id_or_key import of_job, of_one
from pgsched.cli.options import actor_option, many_option, only_client, page_options, sort_option
from pgsched.cli.ordering_keys import blocked, unblock
from pgsched.cli.parameters import host_name, instant, label
from pgsched.cli.why import reasons
from pgsched.domain.states import STATUSES, each_once

_COLUMNS = ("id", "client", "key", "status", "fire_at", "attempt", "finished_at", "target", "held_by", "reason")

executions = CommandGroup("executions")

for _command in (edit, blocked, unblock, forecast):
    executions.add_command(_command)


@command(executions, "list")
@only_client
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only this status; repeatable.")
@click.option("--queue", metavar="NAME", help="Only of this queue.")
@click.option("--host", type=host_name, metavar="HOST", help="Only those whose target is on this host, at any port.")
@of_job
@click.option("--key", metavar="KEY", help="Only those with this key.")
@click.option("--from", "start", type=instant, metavar="INSTANT", help="Only those scheduled at or after this instant.")
@click.option("--to", "end", type=instant, metavar="INSTANT", help="Only those scheduled before this instant.")
@many_option("--label", "Only those with all of these labels.", label)
@sort_option
@page_options()
async def list_executions(
    backend: Any, sort: str, limit: int, after: str | None, statuses: tuple[str, ...], **given: Any
) -> Answer:
    """List executions."""
    wanted = given | {"status": list(each_once(statuses)) or None, "labels": dict(given["labels"]) or None}
    page, note = await fill(partial(backend.list_executions, sort=sort, **wanted), limit, after)
    return listed(page, _COLUMNS, "no executions", note=note)


@command(executions)
@of_one("execution")
async def show(backend: Any, id: UUID) -> Answer:
    """Show one execution with its failed attempts and what it waits for."""
    return shown(await backend.get_execution(id))


@command(executions)
@of_one("execution")
async def why(backend: Any, id: UUID) -> Answer:
    """Explain why an execution has not run, or what became of it."""
    row = await backend.get_execution(id)
    said = reasons(row, await backend.around(row), attempts=row.attempts, waits_for=row.waits_for)
    return Answer({"id": id, "status": row.status, "why": said}, "\n".join(said))


@command(executions)
@of_one("execution")
@click.option("--note", metavar="TEXT", help="Reason, shown with the execution and in the audit log.")
@actor_option
async def cancel(backend: Any, id: UUID, note: str | None) -> Answer:
    """Cancel a waiting or running execution."""
    return changed(await backend.cancel_execution(id, note=note), "cancelled", "had ended before", id=id)
