"""``pgsched dead-letters``: what failed for good, run again or discarded."""

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import ASSIGNMENT, IDENTITY, INSTANT, JSON
from pgsched.cli.replays import cancel_replay, replays
from pgsched.cli.reply import Command, Reply, json_option, listing, table
from pgsched.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from pgsched.store.lookup.rows import DeadLetterFilter

_COLUMNS = ("id", "client", "key", "state", "finished_at", "attempt", "status_code", "target", "reason")
_TRIES = ("attempt", "finished_at", "duration", "status_code", "error")
_FILTERS = ("client", "target", "host", "job", "key", "start", "end", "reason", "status_code")


def _filters(command: Command) -> Command:
    """Gives a command what dead letters are found by."""
    for decorate in (
        click.option("--status-code", type=click.IntRange(100, 599), metavar="CODE", help="Only those answered so."),
        click.option("--reason", metavar="TEXT", help="Only those whose reason has this, in any case."),
        click.option(
            "--to", "end", type=INSTANT, metavar="INSTANT", help="Only those that failed before this instant."
        ),
        click.option(
            "--from", "start", type=INSTANT, metavar="INSTANT", help="Only those that failed at this instant or later."
        ),
        click.option("--key", metavar="KEY", help="Only those under this key."),
        click.option("--job", type=IDENTITY, metavar="ID", help="Only those of this job."),
        click.option("--host", metavar="NAME", help="Only those whose target is at this host."),
        click.option("--target", metavar="TEXT", help="Only those whose target begins so."),
        click.option("--client", metavar="NAME", help="Only this client's."),
    ):
        command = decorate(command)
    return command


def _reasons(command: Command) -> Command:
    """Gives a command why, and who."""
    command = click.option("--actor", metavar="NAME", help="Who does it, for the audit log.  [default: the role]")(
        command
    )
    return click.option("--note", metavar="TEXT", help="Why, for the audit log.")(command)


@click.group("dead-letters")
def dead_letters() -> None:
    """List, show, replay and discard executions that failed for good."""


for _command in (replays, cancel_replay):
    dead_letters.add_command(_command)


@dead_letters.command("list")
@settings_options(DATABASE)
@_filters
@click.option(
    "--state",
    type=click.Choice(["open", "replayed", "discarded", "all"]),
    default="open",
    show_default=True,
    help="What has been done about them: open is nothing.",
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_dead_letters(reply: Reply, /, state: str, limit: int, after: UUID | None, **given: Any) -> None:
    """List dead letters, newest first."""
    from pgsched.cli.looking import look
    from pgsched.store.lookup import listings

    wanted = _wanted(given)

    async def page(connection: Any, most: int, behind: UUID | None) -> Any:
        return await listings.list_dead_letters(connection, wanted, state=state, limit=most, after=behind)

    found = look(with_database(load_settings(given)), reply, page, limit=limit, after=after)
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found.items]
    reply.give({"items": found.items, "next": found.next}, table(_COLUMNS, rows) if rows else "no dead letters")


@dead_letters.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one dead letter with its failed tries."""
    from pgsched.cli.database import ask
    from pgsched.store.lookup import listings

    async def look(connection: Any) -> Any:
        found = await listings.get_dead_letter(connection, id)
        if found is None:
            raise NotFound(f"there is no dead letter {id}; see pgsched dead-letters list --state all")
        return found, await listings.attempts_of(connection, id)

    found, tries = ask(with_database(load_settings(flags)), look)
    shown = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    text = listing(shown)
    if tries:
        text += "\n\n" + table(_TRIES, [[getattr(row, name) for name in _TRIES] for row in tries])
    reply.give({**shown, "attempts": tries}, text)


@dead_letters.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY, required=False)
@_filters
@click.option("--new-target", metavar="TARGET", help="Call this instead.")
@click.option("--payload", type=JSON, metavar="JSON", help="Another payload; @FILE reads a file. With ID only.")
@click.option(
    "--option", "options", type=ASSIGNMENT, multiple=True, metavar="NAME=VALUE", help="In place of all. With ID only."
)
@click.option("--rate", type=float, metavar="NUMBER", help="Of many, at most so many a second.  [default: 10]")
@click.option("--dry-run", is_flag=True, help="Only count. Without ID only.")
@_reasons
@json_option
@click.pass_obj
def replay(reply: Reply, /, id: UUID | None, rate: float | None, dry_run: bool, **given: Any) -> None:
    """Run a dead letter again, or at a rate all that the filters name."""
    wanted, said = _wanted(given), {name: given.pop(name) for name in ("note", "actor")}
    new_target, payload, options = (given.pop(name) for name in ("new_target", "payload", "options"))
    settings = with_database(load_settings(given))
    _check_choice(id, wanted)
    if id is None:
        if payload is not None or options:
            raise InvalidInput("--payload and --option are for a single one: give its ID")
        _replay_many(reply, settings, wanted, 10.0 if rate is None else rate, new_target, dry_run, said)
        return
    if rate is not None or dry_run:
        raise InvalidInput("--rate and --dry-run are for many: leave the ID out and give filters")
    text = json.dumps(dict(options)) if options else None
    _replay_one(reply, settings, id, {"target": new_target, "payload": payload, "options": text}, said)


@dead_letters.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY, required=False)
@_filters
@_reasons
@json_option
@click.pass_obj
def discard(reply: Reply, /, id: UUID | None, **given: Any) -> None:
    """Discard a dead letter, or all that the filters name: they are open no more."""
    from pgsched.cli.database import ask
    from pgsched.store.ends import dead_letters

    wanted, said = _wanted(given), {name: given.pop(name) for name in ("note", "actor")}
    settings = with_database(load_settings(given))
    _check_choice(id, wanted)
    if id is None:
        count = ask(settings, _discard_all(wanted, said))
        reply.give({"discarded": count}, f"discarded: {count}")
        return
    changed = ask(settings, lambda connection: dead_letters.discard(connection, id, **said))
    reply.give({"id": id, "changed": changed}, "discarded" if changed else "was discarded already")


def _wanted(given: dict[str, Any]) -> "DeadLetterFilter":
    """The filter, taken out of what was given."""
    from pgsched.store.lookup.rows import DeadLetterFilter

    return DeadLetterFilter(**{name: given.pop(name) for name in _FILTERS})


def _check_choice(id: UUID | None, wanted: "DeadLetterFilter") -> None:
    many = any(value is not None for value in dataclasses.astuple(wanted))
    if (id is not None) == many:
        raise InvalidInput(
            "give the ID of one dead letter, or at least one filter such as --client for all that it names"
        )


def _replay_one(reply: Reply, settings: Any, id: UUID, changes: dict[str, Any], said: dict[str, Any]) -> None:
    from pgsched.cli.database import ask
    from pgsched.store.ends.dead_letters import Changes, replay

    new = ask(settings, lambda connection: replay(connection, id, Changes(**changes), **said))
    reply.give({"id": new, "dead_letter": id}, str(new))


def _replay_many(
    reply: Reply,
    settings: Any,
    wanted: "DeadLetterFilter",
    rate: float,
    target: str | None,
    dry_run: bool,
    said: dict[str, Any],
) -> None:
    from pgsched.cli.database import ask
    from pgsched.store.ends import dead_letters

    async def begin(connection: Any) -> Any:
        counted = await dead_letters.count(connection, wanted)
        if dry_run:
            return None, counted
        return await dead_letters.replay_all(connection, wanted, rate=rate, target=target, **said), counted

    started, counted = ask(settings, begin)
    text = f"{counted.matched} dead letters" if counted.complete else f"{counted.matched} dead letters or more"
    shown = {"id": started, "matched": counted.matched, "complete": counted.complete}
    reply.give(shown, text if started is None else f"{started}\n{text}")


def _discard_all(wanted: "DeadLetterFilter", said: dict[str, Any]) -> Callable[[Any], Any]:
    from pgsched.store.ends import dead_letters

    async def discard(connection: Any) -> int:
        total, complete = 0, False
        while not complete:
            discarded, complete = await dead_letters.discard_all(connection, wanted, **said)
            await connection.commit()
            total += discarded
        return total

    return discard
