"""``pgsched bulk``: changes everything that matches a filter, at a rate; lists and stops bulk operations."""

import dataclasses
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changed, listed, shown
from pgsched.cli.api_or_database import Ask
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.dead_letters import letter_filters
from pgsched.cli.executions import execution_filters
from pgsched.cli.id_or_key import of_job
from pgsched.cli.options import actor_option, only, options, page_options
from pgsched.cli.parameters import Number, identity, instant
from pgsched.cli.reply import Reply
from pgsched.domain.duration import parse_shift
from pgsched.domain.states import LIVE_STATUSES
from pgsched.errors import Conflict, InvalidSchedule
from pgsched.store.bulk.operation_types import ACTIONS, Action, BulkDetail

_COLUMNS = (
    *("id", "action", "state", "rate", "total", "done", "skipped", "failed"),
    *("filter", "actor", "created_at", "reason"),
)
_LOOKS_APART, _LINES_APART = 0.5, 5.0
"""With --watch: the number of seconds between polls, and the minimum between progress lines."""


def _shift(text: str) -> timedelta:
    """Parses a duration that may be negative."""
    try:
        return parse_shift(text)
    except InvalidSchedule as error:
        raise click.BadParameter(str(error)) from None


_executions = execution_filters(LIVE_STATUSES)
_jobs = only("client", "label")
_instants = options(
    click.option("--client", metavar="NAME", help="Client that the key belongs to, if several have it."),
    of_job,
    click.option(
        "--from", "start", type=instant, required=True, metavar="INSTANT", help="Start of the range, inclusive."
    ),
    click.option("--to", "end", type=instant, required=True, metavar="INSTANT", help="End of the range, exclusive."),
)
_at_a_rate = click.option("--rate", type=Number(), metavar="NUMBER", help="Maximum per second.  [default: 1000]")
_slowly = click.option("--rate", type=Number(), metavar="NUMBER", help="Maximum per second.  [default: 10]")
_watch = click.option("--watch", is_flag=True, help="Show progress on standard error until the operation ends.")
_how = options(
    click.option("--dry-run", is_flag=True, help="Only count the matches."),
    click.option("--note", metavar="TEXT", help="Reason, shown with each changed object and in the audit log."),
    _watch,
    actor_option,
)
_moved = options(
    click.option("--fire-at", type=instant, metavar="INSTANT", help="New instant for all matches."),
    click.option("--by", "shift", type=_shift, metavar="DURATION", help="Move instants by this much, e.g. 1h or -15m."),
)
_elsewhere = click.option("--new-target", metavar="TARGET", help="Target to call instead.")

bulk = CommandGroup("bulk")


def _adds(action: Action, help: str, *given: Callable[[Any], Any]) -> None:
    """Adds the command for ``action``, with these options."""

    async def start(backend: Any, ask: Ask, watch: bool, **asked: Any) -> Answer:
        if action == "backfill":
            del asked["client"]  # needed only for looking up the job's key, which has been done
        found = await backend.bulk(action, **asked)
        skipped = f", of which {found.skipped} have already succeeded" if found.skipped else ""
        text = f"{found.matched}{'' if found.complete else ' or more'}{skipped}"
        answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
        return _followed(answer, ask, found.id) if watch and found.id else answer

    start.__doc__ = f"{help}\n\nPrints the operation's id and the number of matches."
    command(bulk, action.replace("_", "-"), with_ask=True)(options(*given, _how)(start))


_adds("cancel", "Cancel all waiting and running executions that match every filter.", _executions, _at_a_rate)
_adds("reschedule", "Move all waiting one-shots that match every filter.", _executions, _moved, _at_a_rate)
_adds("replay", "Replay all dead letters that match every filter.", letter_filters, _elsewhere, _slowly)
_adds("discard", "Discard all dead letters that match every filter.", letter_filters, _at_a_rate)
_adds("backfill", "Run a job for the instants of a past range that have not succeeded.", _instants, _slowly)
_adds("pause", "Pause all jobs that match every filter, immediately.", _jobs)
_adds("resume", "Resume all paused jobs that match every filter, immediately.", _jobs)
_adds("cancel_jobs", "Cancel all jobs that match every filter, immediately.", _jobs)


@command(bulk, "list")
@click.option("--action", type=click.Choice(ACTIONS), help="Only operations with this action.")
@click.option("--client", metavar="NAME", help="Client that the job's key belongs to, if several have it.")
@of_job
@page_options()
async def list_bulk(backend: Any, client: str | None, limit: int, after: str | None, **wanted: Any) -> Answer:
    """List bulk operations with their progress, newest first."""
    return await listed(partial(backend.list_bulk, **wanted), limit, after, _COLUMNS, "no bulk operations")


@command(bulk, with_ask=True)
@click.argument("id", metavar="OPERATION", type=identity)
@_watch
async def show(backend: Any, ask: Ask, id: UUID, watch: bool) -> Answer:
    """Show one bulk operation and its progress."""
    answer = shown(await backend.get_bulk(id))
    return _followed(answer, ask, id) if watch else answer


@command(bulk)
@click.argument("id", metavar="OPERATION", type=identity)
@actor_option
async def stop(backend: Any, id: UUID) -> Answer:
    """Stop a bulk operation. Changes already made stay."""
    return changed(await backend.stop_bulk(id), "stopped", "had already ended", id=id)


def _followed(answer: Answer, ask: Ask, id: UUID) -> Answer:
    """Makes the command watch the operation after it has printed the answer."""
    return dataclasses.replace(
        answer, then=partial(watch_to_its_end, lambda: ask(lambda backend: backend.get_bulk(id)))
    )


def watch_to_its_end(look: Callable[[], BulkDetail], reply: Reply) -> None:
    """Reports progress until the operation ends. An interrupt stops only the reports, not the operation. Raises
    Conflict if the operation ends early."""
    told, told_at = "", float("-inf")
    while (found := look()).state == "active":
        line, now = _progress(found), time.monotonic()
        if line != told and now - told_at >= _LINES_APART:
            told, told_at = line, now
            reply.note(line)
        time.sleep(_LOOKS_APART)
    if found.state != "finished":
        why = found.reason or "it was stopped"
        raise Conflict(f"the bulk operation {found.id} ended early: {why}")
    reply.note(_progress(found))


def _progress(found: BulkDetail) -> str:
    text = f"{found.action}: {found.done} done, {found.skipped} skipped, {found.failed} failed"
    behind = found.done + found.skipped + found.failed
    if runs := found.runs:
        text += f"; {runs.finished} runs have finished, of which {runs.failed} failed"
        behind -= runs.live
    if found.state == "active" and found.total:
        text += f", {min(100 * behind // found.total, 100)}%"
    return f"{text}, {found.reason}" if found.reason else text
