"""``pgsched executions``: what waits, runs and has finished."""

import dataclasses
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY, INSTANT, actor_option
from pgsched.cli.reply import Reply, json_option, listing, table
from pgsched.errors import NotFound

STATUSES = ("scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped")
_COLUMNS = ("id", "client", "key", "status", "fire_at", "attempt", "finished_at", "target", "reason")
_TRIES = ("attempt", "finished_at", "duration", "status_code", "error")


@click.group()
def executions() -> None:
    """List, show and cancel executions."""


@executions.command("list")
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option("--status", type=click.Choice(STATUSES), help="Only these.")
@click.option("--queue", metavar="NAME", help="Only those of this queue.")
@click.option("--job", type=IDENTITY, metavar="ID", help="Only those of this job.")
@click.option("--key", metavar="KEY", help="Only those under this key.")
@click.option(
    "--from", "start", type=INSTANT, metavar="INSTANT", help="Only those scheduled for this instant or later."
)
@click.option("--to", "end", type=INSTANT, metavar="INSTANT", help="Only those scheduled for before this instant.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_executions(reply: Reply, /, limit: int, after: UUID | None, **given: Any) -> None:
    """List executions, newest first."""
    from pgsched.cli.looking import look
    from pgsched.store.lookup import listings
    from pgsched.store.lookup.rows import ExecutionFilter

    settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
    wanted = ExecutionFilter(**given)

    async def page(connection: Any, most: int, behind: UUID | None) -> Any:
        return await listings.list_executions(connection, wanted, limit=most, after=behind)

    found = look(settings, reply, page, limit=limit, after=after)
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found.items]
    reply.give({"items": found.items, "next": found.next}, table(_COLUMNS, rows) if rows else "no executions")


@executions.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one execution with its failed tries, and what it still waits for."""
    from pgsched.cli.database import ask
    from pgsched.store.ends import dependencies
    from pgsched.store.lookup import listings

    async def look(connection: Any) -> Any:
        found = await listings.get_execution(connection, id)
        if found is None:
            raise NotFound(f"there is no execution {id}; see pgsched executions list, and pgsched jobs list")
        tries = await listings.attempts_of(connection, id)
        return found, tries, await dependencies.waits_for(connection, id)

    found, tries, waits_for = ask(with_database(load_settings(flags)), look)
    shown = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    text = listing({**shown, "waits_for": waits_for} if waits_for else shown)
    if tries:
        text += "\n\n" + table(_TRIES, [[getattr(row, name) for name in _TRIES] for row in tries])
    reply.give({**shown, "attempts": tries, "waits_for": waits_for}, text)


@executions.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@click.option("--note", metavar="TEXT", help="Why; for the audit log, and as the execution's reason.")
@actor_option
@json_option
@click.pass_obj
def cancel(reply: Reply, /, id: UUID, note: str | None, actor: str | None, **flags: Any) -> None:
    """Cancel an execution that waits."""
    from pgsched.cli.database import ask
    from pgsched.store.schedule import calls

    async def end(connection: Any) -> Any:
        if await calls.is_job(connection, id):
            raise NotFound(f"{id} is a job: use pgsched jobs cancel")
        return await calls.cancel(connection, id, note=note, actor=actor)

    done = ask(with_database(load_settings(flags)), end)
    reply.give({"id": id, "changed": done}, "cancelled" if done else "had ended before")
