"""``pgsched bulk``: executions cancelled or rescheduled many at once, and how far that is."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed, fill, listed, shown
from pgsched.cli.asking import Ask
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.commands import command
from pgsched.cli.following import Stage, then_followed, watch_option
from pgsched.cli.naming import of_job
from pgsched.cli.options import actor_option, many_option, options, page_options
from pgsched.cli.parameters import Number, host_name, identity, instant, label
from pgsched.domain.duration import parse_shift
from pgsched.domain.states import LIVE_STATUSES, each_once
from pgsched.errors import InvalidInput, InvalidSchedule
from pgsched.store.ends.bulk_changes import ChangingMany

_COLUMNS = ("id", "verb", "state", "rate", "changed", "passed_over", "filter", "actor", "created_at", "reason")


def _shift(text: str) -> timedelta:
    """A duration, back where it begins with a minus."""
    try:
        return parse_shift(text)
    except InvalidSchedule as error:
        raise click.BadParameter(str(error)) from None


_of_many = options(
    click.option("--client", metavar="NAME", help="Only of this client."),
    click.option(
        "--status", "statuses", multiple=True, type=click.Choice(LIVE_STATUSES), help="Only this status; repeatable."
    ),
    click.option("--queue", metavar="NAME", help="Only of this queue."),
    click.option(
        "--host", type=host_name, metavar="HOST", help="Only those whose target is on this host, at any port."
    ),
    of_job,
    click.option("--key", metavar="KEY", help="Only those with this key."),
    click.option(
        "--from", "start", type=instant, metavar="INSTANT", help="Only those scheduled at or after this instant."
    ),
    click.option("--to", "end", type=instant, metavar="INSTANT", help="Only those scheduled before this instant."),
    many_option("--label", "Those with all of these labels.", label),
    click.option(
        "--rate", type=Number(), default=1000, show_default=True, metavar="NUMBER", help="Most executions per second."
    ),
    click.option("--dry-run", is_flag=True, help="Only count."),
    click.option("--note", metavar="TEXT", help="Reason, shown with cancelled executions and in the audit log."),
    actor_option,
)

bulk = CommandGroup("bulk")


@command(bulk, with_ask=True)
@_of_many
@watch_option
async def cancel(desk: Any, ask: Ask, watch: bool, **given: Any) -> Answer:
    """Cancel all waiting and running executions that match every filter.

    Prints the bulk change's id and the number of matches; workers carry it out.
    """
    return _started(await desk.cancel_many(**_wanted(given)), ask if watch else None)


@command(bulk, with_ask=True)
@_of_many
@watch_option
@click.option("--fire-at", type=instant, metavar="INSTANT", help="New instant.")
@click.option("--by", "shift", type=_shift, metavar="DURATION", help="Move each by this much, e.g. 1h or -15m.")
async def reschedule(
    desk: Any, ask: Ask, watch: bool, fire_at: datetime | None, shift: timedelta | None, **given: Any
) -> Answer:
    """Reschedule all waiting one-shots that match every filter.

    Prints the bulk change's id and the number of matches; workers carry it out.
    """
    if (fire_at is None) is (shift is None):
        raise InvalidInput("when shall they fire? Give --fire-at with an instant, or --by with a duration")
    started = await desk.reschedule_many(fire_at=fire_at, shift=shift, **_wanted(given))
    return _started(started, ask if watch else None)


@command(bulk, "list")
@page_options()
async def list_bulk_changes(desk: Any, limit: int, after: str | None) -> Answer:
    """List bulk changes with their progress, newest first, including replays of dead letters."""
    page, note = await fill(desk.list_bulk_changes, limit, after)
    return listed(page, _COLUMNS, "no bulk changes", note=note)


@command(bulk, with_ask=True)
@click.argument("id", metavar="CHANGE", type=identity)
@watch_option
async def show(desk: Any, ask: Ask, id: UUID, watch: bool) -> Answer:
    """Show one bulk change and its progress."""
    answer = shown(await desk.get_bulk_change(id))
    return change_followed(answer, ask, id) if watch else answer


@command(bulk)
@click.argument("id", metavar="CHANGE", type=identity)
@actor_option
async def stop(desk: Any, id: UUID) -> Answer:
    """End a bulk change; executions it has not reached stay unchanged."""
    return changed(await desk.cancel_bulk_change(id), "stopped", "had ended before", id=id)


def _wanted(given: Mapping[str, Any]) -> dict[str, Any]:
    """The filter, and how it is to be done."""
    others = {name: value for name, value in given.items() if name not in ("statuses", "labels")}
    return {"status": list(each_once(given["statuses"])) or None, "labels": dict(given["labels"]) or None, **others}


def _started(found: ChangingMany, follow_with: Ask | None) -> Answer:
    text = f"{found.matched} executions{'' if found.complete else ' or more'}"
    answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
    if follow_with is None:
        return answer
    return change_followed(answer, follow_with, found.id, found.matched if found.complete else None)


def change_followed(answer: Answer, ask: Ask, id: UUID | None, total: int | None = None) -> Answer:
    """The answer, after which the change of ``total`` executions is followed; there is none after a dry run."""
    if id is None:
        return answer

    async def stage(desk: Any) -> Stage:
        found = await desk.get_bulk_change(id)
        text = f"{found.changed} changed, {found.passed_over} passed over"
        done = found.changed + found.passed_over
        return Stage(f"the change {id}", found.verb, found.state, done, total, text, found.reason)

    return then_followed(answer, ask, stage)
