"""``pgsched executions``: those that wait, run and have finished."""

from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed, fill, listed, shown
from pgsched.cli.commands import command
from pgsched.cli.execution_edits import check_which, edit, reschedule, which
from pgsched.cli.options import actor_option, many_option, only_client, page_options, sort_option
from pgsched.cli.parameters import host_name, identity, instant, label
from pgsched.cli.why import reasons
from pgsched.domain.states import STATUSES, each_once
from pgsched.errors import NotFound
from pgsched.store.admin import clients, queues
from pgsched.store.ends import dependencies
from pgsched.store.lookup.rows import Execution, ExecutionFilter
from pgsched.store.schedule import calls

_COLUMNS = ("id", "client", "key", "status", "fire_at", "attempt", "finished_at", "target", "held_by", "reason")

executions = click.Group("executions", help="List, show, explain, change and cancel executions.")

for _command in (edit, reschedule):
    executions.add_command(_command)


@command(executions, "list")
@only_client
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only this status; repeatable.")
@click.option("--queue", metavar="NAME", help="Only of this queue.")
@click.option("--host", type=host_name, metavar="HOST", help="Only those whose target is on this host, at any port.")
@click.option("--job", type=identity, metavar="ID", help="Only of this job.")
@click.option("--key", metavar="KEY", help="Only those with this key.")
@click.option("--from", "start", type=instant, metavar="INSTANT", help="Only those scheduled at or after this instant.")
@click.option("--to", "end", type=instant, metavar="INSTANT", help="Only those scheduled before this instant.")
@many_option("--label", "Only those with all of these labels.", label)
@sort_option
@page_options()
async def list_executions(
    connection: Any, sort: str, limit: int, after: UUID | None, statuses: tuple[str, ...], **given: Any
) -> Answer:
    """List executions."""
    from pgsched.store.lookup import listings
    from pgsched.store.lookup.order import Order

    labels = dict(given.pop("labels")) or None
    wanted = ExecutionFilter(statuses=each_once(statuses), labels=labels, **given)
    page, note = await fill(partial(listings.list_executions, connection, wanted, order=Order(sort)), limit, after)
    return listed(page, _COLUMNS, "no executions", note=note)


@command(executions)
@click.argument("id", type=identity)
async def show(connection: Any, id: UUID) -> Answer:
    """Show one execution with its failed attempts and what it waits for."""
    from pgsched.store.lookup import listings

    found = await _get(connection, id)
    waits_for = await dependencies.waits_for(connection, id)
    progress = await listings.progress_of(connection, id)
    return shown(found, await listings.attempts_of(connection, id), waits_for=waits_for, progress=progress)


@command(executions)
@click.argument("id", type=identity)
async def why(connection: Any, id: UUID) -> Answer:
    """Explain why an execution has not run, or what became of it."""
    from pgsched.store.lookup import listings

    row = await _get(connection, id)
    waits_for = await dependencies.waits_for(connection, id)
    is_pulled = row.queue is not None and (await queues.get_queue(connection, row.queue)).pulled
    attempts, now = await listings.attempts_of(connection, id), await listings.time_of(connection)
    hold = await clients.find_hold(connection, row.client)
    said = reasons(row, now, attempts=attempts, waits_for=waits_for, is_pulled=is_pulled, hold=hold)
    return Answer({"id": id, "status": row.status, "why": said}, "\n".join(said))


@command(executions)
@which
@click.option("--note", metavar="TEXT", help="Reason, shown with the execution and in the audit log.")
@actor_option
async def cancel(connection: Any, id: UUID | None, key: str | None, client: str, **said: Any) -> Answer:
    """Cancel a waiting or running execution; with --key, a job too."""
    check_which(id, key, "cancelled")
    if id is None:
        was_live = await calls.cancel_by_key(connection, client, str(key), **said)
        return changed(was_live, "cancelled", "had ended before", client=client, key=key)
    if await calls.is_job(connection, id):
        raise NotFound(f"{id} is a job: use pgsched jobs cancel")
    return changed(await calls.cancel(connection, id, **said), "cancelled", "had ended before", id=id)


async def _get(connection: Any, id: UUID) -> Execution:
    from pgsched.store.lookup import listings

    found = await listings.get_execution(connection, id)
    if found is None:
        raise NotFound(f"there is no execution {id}; see pgsched executions list, and pgsched jobs list")
    return found
