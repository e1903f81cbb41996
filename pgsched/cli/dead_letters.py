"""``pgsched dead-letters``: executions that failed for good, to be run again or discarded."""

import dataclasses
import json
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed, fill, listed, shown
from pgsched.cli.bulk import change_followed
from pgsched.cli.commands import command
from pgsched.cli.following import watch_option
from pgsched.cli.options import actor_option, many_option, only_client, options, page_options, sort_option
from pgsched.cli.parameters import host_name, identity, instant, json_text, label
from pgsched.cli.replays import cancel_replay, list_replays
from pgsched.domain.states import LETTER_STATES
from pgsched.errors import InvalidInput, NotFound
from pgsched.settings import Settings
from pgsched.store.ends import dead_letters as store
from pgsched.store.lookup.rows import DeadLetterFilter

_COLUMNS = ("id", "client", "key", "state", "finished_at", "attempt", "status_code", "target", "reason")
_FILTERS = ("client", "target", "host", "job", "key", "start", "end", "reason", "status_code", "labels")
_filters = options(
    only_client,
    click.option("--target", metavar="TEXT", help="Only those whose target starts with this."),
    click.option(
        "--host", type=host_name, metavar="NAME", help="Only those whose target is on this host, at any port."
    ),
    click.option("--job", type=identity, metavar="ID", help="Only of this job."),
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

dead_letters = click.Group("dead-letters", help="List, show, replay and discard executions that failed for good.")


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
async def list_dead_letters(
    connection: Any, state: str, sort: str, limit: int, after: UUID | None, **given: Any
) -> Answer:
    """List dead letters."""
    from pgsched.store.lookup import listings
    from pgsched.store.lookup.order import Order

    how: Any = {"state": state, "order": Order(sort)}
    page, note = await fill(partial(listings.list_dead_letters, connection, _wanted(given), **how), limit, after)
    return listed(page, _COLUMNS, "no dead letters", note=note)


@command(dead_letters)
@click.argument("id", type=identity)
async def show(connection: Any, id: UUID) -> Answer:
    """Show one dead letter with its failed attempts."""
    from pgsched.store.lookup import listings

    found = await listings.get_dead_letter(connection, id)
    if found is None:
        raise NotFound(f"there is no dead letter {id}; see pgsched dead-letters list --state all")
    return shown(found, await listings.attempts_of(connection, id))


@command(dead_letters, with_settings=True)
@click.argument("id", type=identity, required=False)
@_filters
@click.option("--new-target", metavar="TARGET", help="New target.")
@click.option("--payload", type=json_text, metavar="JSON", help="New payload; @FILE reads a file. Only with an ID.")
@many_option("--option", "In place of all. With ID only.")
@click.option("--rate", type=float, metavar="NUMBER", help="Most per second when replaying many.  [default: 10]")
@click.option("--dry-run", is_flag=True, help="Only count. Not with an ID.")
@watch_option
@_said
async def replay(
    connection: Any,
    settings: Settings,
    id: UUID | None,
    new_target: str | None,
    payload: str | None,
    options: tuple[tuple[str, Any], ...],
    rate: float | None,
    dry_run: bool,
    watch: bool,
    **given: Any,
) -> Answer:
    """Run a dead letter again, or all that match the filters, at a rate."""
    wanted = _choice(id, given)
    if id is None:
        if payload is not None or options:
            raise InvalidInput("--payload and --option are for a single one: give its ID")
        how = {"rate": 10.0 if rate is None else rate, "target": new_target, "dry_run": dry_run, **given}
        found = await store.replay_all(connection, wanted, **how)
        text = f"{found.matched} dead letters{'' if found.complete else ' or more'}"
        answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
        total = found.matched if found.complete else None
        return change_followed(answer, settings, found.id, total) if watch else answer
    if rate is not None or dry_run or watch:
        raise InvalidInput("--rate, --dry-run and --watch are for many: leave the ID out and give filters")
    changes = store.Changes(target=new_target, payload=payload, options=json.dumps(dict(options)) if options else None)
    new = await store.replay(connection, id, changes, **given)
    return Answer({"id": new, "dead_letter": id}, str(new))


@command(dead_letters)
@click.argument("id", type=identity, required=False)
@_filters
@_said
async def discard(connection: Any, id: UUID | None, **given: Any) -> Answer:
    """Discard a dead letter, or all that match the filters: they are no longer open."""
    wanted = _choice(id, given)
    if id is not None:
        was_open = await store.discard(connection, id, **given)
        return changed(was_open, "discarded", "was discarded already", id=id)
    total, complete = 0, False
    while not complete:
        done = await store.discard_all(connection, wanted, **given)
        await connection.commit()
        total, complete = total + done.discarded, done.complete
    return Answer({"discarded": total}, f"discarded: {total}")


def _wanted(given: dict[str, Any]) -> DeadLetterFilter:
    """Takes the filter out of the parameters."""
    named = {name: given.pop(name) for name in _FILTERS}
    return DeadLetterFilter(**named | {"labels": dict(named["labels"]) or None})


def _choice(id: UUID | None, given: dict[str, Any]) -> DeadLetterFilter:
    """Takes the filter out. Raises InvalidInput unless exactly one of an id and a filter is given."""
    wanted = _wanted(given)
    many = any(value is not None for value in dataclasses.astuple(wanted))
    if (id is not None) == many:
        raise InvalidInput(
            "give the ID of one dead letter, or at least one filter such as --client for all that it names"
        )
    return wanted
