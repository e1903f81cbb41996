"""``pgsched jobs``: the recurring definitions."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from pgsched.cli.backfills import backfill, backfills, cancel_backfill
from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.edits import edit
from pgsched.cli.groups import cancel, pause, resume
from pgsched.cli.parameters import IDENTITY, LABEL, actor_option
from pgsched.cli.reply import Reply, json_option, listing, table
from pgsched.domain.duration import format_duration
from pgsched.errors import NotFound

if TYPE_CHECKING:
    from pgsched.store.lookup.rows import JobRow

_HIDDEN = {"cron", "timezone", "every", "gap", "overlap", "anchor"}


@click.group()
def jobs() -> None:
    """List, show, edit, pause, resume, trigger and cancel recurring jobs."""


for _command in (edit, pause, resume, cancel):
    jobs.add_command(_command)


@jobs.command("list")
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option(
    "--state", type=click.Choice(["active", "paused", "invalid", "cancelled", "finished"]), help="Only these."
)
@click.option("--key", metavar="KEY", help="Only those under this key.")
@click.option(
    "--label", "labels", type=LABEL, multiple=True, metavar="NAME=TEXT", help="Only those with all of these labels."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_jobs(reply: Reply, /, limit: int, after: UUID | None, **given: Any) -> None:
    """List jobs, newest first."""
    from pgsched.cli.looking import look
    from pgsched.store.lookup import listings
    from pgsched.store.lookup.rows import JobFilter

    settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
    wanted = JobFilter(**given | {"labels": dict(given["labels"]) or None})

    async def page(connection: Any, most: int, behind: UUID | None) -> Any:
        return await listings.list_jobs(connection, wanted, limit=most, after=behind)

    found = look(settings, reply, page, limit=limit, after=after)
    columns = ("id", "client", "key", "state", "schedule", "target", "labels", "reason")
    rows = [[_summary(row) if name == "schedule" else getattr(row, name) for name in columns] for row in found.items]
    items = [_shown(row) for row in found.items]
    reply.give({"items": items, "next": found.next}, table(columns, rows) if rows else "no jobs")


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one job with its next instant."""
    from pgsched.cli.database import ask
    from pgsched.store.lookup import listings

    async def look(connection: Any) -> Any:
        row = await listings.get_job(connection, id)
        if row is None:
            raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions list for one-shots")
        return row, (await listings.planned_instant(connection, id))[0]

    row, planned = ask(with_database(load_settings(flags)), look)
    shown = {**_shown(row), "next_fire": planned}
    reply.give(shown, listing({**shown, "schedule": _summary(row)}))


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@actor_option
@json_option
@click.pass_obj
def trigger(reply: Reply, /, id: UUID, actor: str | None, **flags: Any) -> None:
    """Run a job now, besides its schedule. Prints the execution's id."""
    from pgsched.cli.database import ask
    from pgsched.store.schedule import calls

    settings = with_database(load_settings(flags))
    execution = ask(settings, lambda connection: calls.trigger(connection, id, actor=actor))
    reply.give({"id": execution, "job_id": id}, str(execution))


for command in (backfill, backfills, cancel_backfill):
    jobs.add_command(command)


def _shown(row: "JobRow") -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in row.__dataclass_fields__ if name not in _HIDDEN}
    return {**fields, "schedule": _schedule(row)}


def _schedule(row: "JobRow") -> dict[str, str]:
    if row.every is not None:
        return {"every": format_duration(row.every)} | ({"timezone": row.timezone} if row.timezone != "UTC" else {})
    return {"cron": row.cron or "", "timezone": row.timezone, "gap": row.gap, "overlap": row.overlap}


def _summary(row: "JobRow") -> str:
    return f"{row.cron} {row.timezone}" if row.every is None else f"every {format_duration(row.every)}"
