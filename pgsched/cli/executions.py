"""``pgsched executions``: waiting, running and finished executions."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changed, changes_in, edited, listed, shown
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.forecast import forecast
from pgsched.cli.id_or_key import Question, of_job, of_one
from pgsched.cli.options import (
    actor_option,
    many_option,
    only,
    options,
    page_options,
    payload_option,
    sort_option,
    status_option,
)
from pgsched.cli.parameters import instant, label
from pgsched.cli.why import reasons
from pgsched.domain.states import STATUSES

_COLUMNS = (
    "id",
    "client",
    "key",
    "status",
    "fire_at",
    "attempt",
    "finished_at",
    "duration",
    "target",
    "held_by",
    "reason",
)
_BLOCKED_COLUMNS = ("client", "ordering_key", "queue", "waiting", "blocked_at", "execution_id", "reason")

executions = CommandGroup("executions")

executions.add_command(forecast)


def execution_filters(statuses: Sequence[str]) -> Callable[[Question], Question]:
    """Returns the filter options of a command for executions that can have these statuses."""
    scheduled = partial(click.option, type=instant, metavar="INSTANT")
    return options(
        only("client"),
        status_option(statuses),
        only("queue", "host"),
        of_job,
        only("key"),
        scheduled("--from", "start", help="Only those scheduled at or after this instant."),
        scheduled("--to", "end", help="Only those scheduled before this instant."),
        only("label"),
    )


@command(executions, "list")
@execution_filters(STATUSES)
@sort_option
@page_options()
async def list_executions(backend: Any, limit: int, after: str | None, **wanted: Any) -> Answer:
    """List executions."""
    return await listed(partial(backend.list_executions, **wanted), limit, after, _COLUMNS, "no executions")


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
@many_option("--option", "Delivery option; repeatable. Those given replace all current ones.")
@many_option("--label", "Label; repeatable. Those given replace all current ones.", label)
@click.option("--fire-at", type=instant, metavar="INSTANT", help="Instant at which to fire it.")
@click.option(
    "--clear", type=click.Choice(("payload", "options", "labels")), multiple=True, help="Remove this field; repeatable."
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
    return changed(await backend.cancel_execution(id, note=note), "cancelled", "had already ended", id=id)


@command(executions)
@only("client")
@page_options()
async def blocked(backend: Any, client: str | None, limit: int, after: str | None) -> Answer:
    """List the ordering keys that a failed execution blocks, newest first."""
    pages = partial(backend.list_blocked, client=client)
    return await listed(pages, limit, after, _BLOCKED_COLUMNS, "no ordering key is blocked")


@command(executions)
@click.argument("client")
@click.argument("ordering_key")
@actor_option
async def unblock(backend: Any, client: str, ordering_key: str) -> Answer:
    """Unblock a CLIENT's ordering key: its executions continue without the one that failed."""
    done = await backend.unblock(client, ordering_key)
    return changed(done, "unblocked", "was not blocked", client=client, ordering_key=ordering_key)
