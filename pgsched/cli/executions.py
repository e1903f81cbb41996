"""``pgsched executions``: those that wait, run and have finished."""

from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changed, changes_in, edited, fill, listed, shown
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.forecast import forecast
from pgsched.cli.id_or_key import of_job, of_one
from pgsched.cli.options import actor_option, many_option, only_client, page_options, payload_option, sort_option
from pgsched.cli.parameters import host_name, instant, label
from pgsched.cli.why import reasons
from pgsched.domain.states import STATUSES, each_once

_COLUMNS = ("id", "client", "key", "status", "fire_at", "attempt", "finished_at", "target", "held_by", "reason")
_BLOCKED_COLUMNS = ("client", "ordering_key", "queue", "waiting", "blocked_at", "execution_id", "reason")

executions = CommandGroup("executions")

executions.add_command(forecast)


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
@click.option("--target", metavar="TARGET", help="Target to call.")
@payload_option
@many_option("--option", "All delivery options it has.")
@many_option("--label", "All labels it has.", label)
@click.option("--fire-at", type=instant, metavar="INSTANT", help="When it fires.")
@click.option(
    "--clear", type=click.Choice(("payload", "options", "labels")), multiple=True, help="Remove this; repeatable."
)
@click.option("--note", metavar="TEXT", help="Reason, for the audit log.")
@actor_option
async def edit(backend: Any, id: UUID, note: str | None, **given: Any) -> Answer:
    """Change the given parts of an execution that has not started, or move one that waits for a retry."""
    changes = changes_in(given, "--fire-at 2026-03-01T09:00:00Z")
    is_changed, fire_at = await backend.change_execution(id, changes, note=note)
    return edited(id, is_changed, fire_at, "fires at")


@command(executions)
@of_one("execution")
@click.option("--note", metavar="TEXT", help="Reason, shown with the execution and in the audit log.")
@actor_option
async def cancel(backend: Any, id: UUID, note: str | None) -> Answer:
    """Cancel a waiting or running execution."""
    return changed(await backend.cancel_execution(id, note=note), "cancelled", "had ended before", id=id)


@command(executions)
@only_client
@page_options()
async def blocked(backend: Any, client: str | None, limit: int, after: str | None) -> Answer:
    """List the ordering keys that a failed execution blocks, newest first."""
    page, note = await fill(partial(backend.list_blocked, client=client), limit, after)
    return listed(page, _BLOCKED_COLUMNS, "no ordering key is blocked", note=note)


@command(executions)
@click.argument("client")
@click.argument("ordering_key")
@actor_option
async def unblock(backend: Any, client: str, ordering_key: str) -> Answer:
    """Unblock a CLIENT's ordering key: its executions continue without the one that failed."""
    done = await backend.unblock(client, ordering_key)
    return changed(done, "unblocked", "was not blocked", client=client, ordering_key=ordering_key)
