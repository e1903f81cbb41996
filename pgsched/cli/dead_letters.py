"""``pgsched dead-letters``: lists, replays and discards executions that failed for good."""

from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changed, listed, shown
from pgsched.cli.command_decorators import command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.id_or_key import of_job, of_one
from pgsched.cli.options import actor_option, many_option, only, options, page_options, sort_option
from pgsched.cli.parameters import instant, json_text
from pgsched.domain.states import LETTER_STATES

_COLUMNS = ("id", "client", "key", "state", "finished_at", "attempt", "status_code", "target", "reason")
letter_filters = options(
    only("client"),
    click.option("--target", metavar="TEXT", help="Only those whose target starts with this."),
    only("host"),
    of_job,
    only("key"),
    click.option(
        "--from", "start", type=instant, metavar="INSTANT", help="Only those that failed at or after this instant."
    ),
    click.option("--to", "end", type=instant, metavar="INSTANT", help="Only those that failed before this instant."),
    click.option("--reason", metavar="TEXT", help="Only those whose reason contains this, ignoring case."),
    click.option(
        "--status-code", type=click.IntRange(100, 599), metavar="CODE", help="Only those with this HTTP status code."
    ),
    only("label"),
)
_said = options(click.option("--note", metavar="TEXT", help="Reason, for the audit log."), actor_option)

dead_letters = CommandGroup("dead-letters")


@command(dead_letters, "list")
@letter_filters
@click.option(
    "--state",
    type=click.Choice(LETTER_STATES),
    default="open",
    show_default=True,
    help="Only open, replayed or discarded dead letters, or all of them.",
)
@sort_option
@page_options()
async def list_dead_letters(backend: Any, limit: int, after: str | None, **wanted: Any) -> Answer:
    """List dead letters."""
    return await listed(partial(backend.list_dead_letters, **wanted), limit, after, _COLUMNS, "no dead letters")


@command(dead_letters)
@of_one("dead letter")
async def show(backend: Any, id: UUID) -> Answer:
    """Show one dead letter with its failed attempts."""
    return shown(await backend.get_dead_letter(id))


@command(dead_letters)
@of_one("dead letter")
@click.option("--new-target", "target", metavar="TARGET", help="Target to call instead.")
@click.option("--payload", type=json_text, metavar="JSON", help="New payload; @FILE reads a file.")
@many_option("--option", "Delivery option; repeatable. Those given replace all current ones.")
@_said
async def replay(backend: Any, id: UUID, **changes: Any) -> Answer:
    """Replay a dead letter, and print the new execution's id."""
    new = await backend.replay(id, **{name: value for name, value in changes.items() if value is not None})
    return Answer({"id": new, "dead_letter": id}, str(new))


@command(dead_letters)
@of_one("dead letter")
@_said
async def discard(backend: Any, id: UUID, note: str | None) -> Answer:
    """Discard a dead letter. It stays in history."""
    return changed(await backend.discard(id, note=note), "discarded", "was already discarded", id=id)
