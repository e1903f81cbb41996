"""``pgsched dead-letters``: executions that failed for good, to be run again or discarded."""

import dataclasses
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed, fill, listed, shown
from pgsched.cli.asking import Ask
from pgsched.cli.bulk import change_followed
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.commands import command
from pgsched.cli.following import watch_option
from pgsched.cli.naming import id_of_one, name_argument, of_job, of_one
from pgsched.cli.options import actor_option, many_option, only_client, options, page_options, sort_option
from pgsched.cli.parameters import Number, host_name, instant, json_text, label
from pgsched.cli.replays import cancel_replay, list_replays
from pgsched.domain.naming import id_or_key
from pgsched.domain.states import LETTER_STATES
from pgsched.errors import InvalidInput

_COLUMNS = ("id", "client", "key", "state", "finished_at", "attempt", "status_code", "target", "reason")
_filters = options(
    only_client,
    click.option("--target", metavar="TEXT", help="Only those whose target starts with this."),
    click.option(
        "--host", type=host_name, metavar="NAME", help="Only those whose target is on this host, at any port."
    ),
    of_job,
    click.option("--key", metavar="KEY", help="Only those with this key."),
    click.option(
        "--from", "start", type=instant, metavar="INSTANT", help="Only those that failed at or after this instant."
    ),
    click.option("--to", "end", type=instant, metavar="INSTANT", help="Only those that failed before this instant."),
    click.option("--reason", metavar="TEXT", help="Only those whose reason contains this, ignoring case."),
    click.option(
        "--status-code", type=click.IntRange(100, 599), metavar="CODE", help="Only those with this HTTP status code."
    ),
    many_option("--label", "Only those with all of these labels.", label),
)
_said = options(click.option("--note", metavar="TEXT", help="Reason, for the audit log."), actor_option)

_one_or_many = options(name_argument, _filters)

dead_letters = CommandGroup("dead-letters")


for _command in (list_replays, cancel_replay):
    dead_letters.add_command(_command)


@command(dead_letters, "list")
@_filters
@click.option(
    "--state",
    type=click.Choice(LETTER_STATES),
    default="open",
    show_default=True,
    help="Only open, replayed or discarded ones, or all.",
)
@sort_option
@page_options()
async def list_dead_letters(desk: Any, state: str, sort: str, limit: int, after: str | None, **given: Any) -> Answer:
    """List dead letters."""
    page, note = await fill(partial(desk.list_dead_letters, state=state, sort=sort, **_wanted(given)), limit, after)
    return listed(page, _COLUMNS, "no dead letters", note=note)


@command(dead_letters)
@of_one("dead letter")
async def show(desk: Any, id: UUID) -> Answer:
    """Show one dead letter with its failed attempts."""
    return shown(await desk.get_dead_letter(id))


@command(dead_letters, with_ask=True)
@_one_or_many
@click.option("--new-target", metavar="TARGET", help="New target.")
@click.option("--payload", type=json_text, metavar="JSON", help="New payload; @FILE reads a file. Only with an ID.")
@many_option("--option", "In place of all. With ID only.")
@click.option("--rate", type=Number(), metavar="NUMBER", help="Most per second when replaying many.  [default: 10]")
@click.option("--dry-run", is_flag=True, help="Only count. Not with an ID.")
@watch_option
@_said
async def replay(
    desk: Any,
    ask: Ask,
    name: str | None,
    note: str | None,
    new_target: str | None,
    payload: Any,
    options: tuple[tuple[str, Any], ...],
    rate: float | None,
    dry_run: bool,
    watch: bool,
    **given: Any,
) -> Answer:
    """Run a dead letter again, or all that match the filters, at a rate."""
    id, wanted = await _choice(desk, name, given)
    if id is None:
        if payload is not None or options:
            raise InvalidInput("--payload and --option are for a single one: give its ID or its key")
        how = {"rate": 10.0 if rate is None else rate, "new_target": new_target, "dry_run": dry_run, "note": note}
        found = await desk.replay_all(**how, **wanted)
        text = f"{found.matched} dead letters{'' if found.complete else ' or more'}"
        answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
        total = found.matched if found.complete else None
        return change_followed(answer, ask, found.id, total) if watch else answer
    if rate is not None or dry_run or watch:
        raise InvalidInput("--rate, --dry-run and --watch are for many: leave the ID out and give filters")
    changes = {"target": new_target, "payload": payload, "options": dict(options) or None, "note": note}
    new = await desk.replay(id, **{name: value for name, value in changes.items() if value is not None})
    return Answer({"id": new, "dead_letter": id}, str(new))


@command(dead_letters)
@_one_or_many
@_said
async def discard(desk: Any, name: str | None, note: str | None, **given: Any) -> Answer:
    """Discard a dead letter, or all that match the filters: they are no longer open."""
    id, wanted = await _choice(desk, name, given)
    if id is not None:
        return changed(await desk.discard(id, note=note), "discarded", "was discarded already", id=id)
    total = await desk.discard_all(note=note, **wanted)
    return Answer({"discarded": total}, f"discarded: {total}")


def _wanted(given: dict[str, Any]) -> dict[str, Any]:
    return given | {"labels": dict(given["labels"]) or None}


async def _choice(desk: Any, name: str | None, given: dict[str, Any]) -> tuple[UUID | None, dict[str, Any]]:
    """The one that is named, with the client if that is given; or else the filter. Raises InvalidInput unless it is one
    of the two."""
    wanted = _wanted(given)
    asked = {flag for flag, value in wanted.items() if value is not None}
    with_key = {"client"} if name is not None and isinstance(id_or_key(name), str) else set()
    is_clear = bool(asked) if name is None else asked <= with_key
    if not is_clear:
        raise InvalidInput(
            "give the ID or the key of one dead letter, or at least one filter such as --client for all that it names"
        )
    return await id_of_one(desk, "dead letter", name, None, given["client"]), wanted
