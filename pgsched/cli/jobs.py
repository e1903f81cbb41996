"""``pgsched jobs``: the recurring definitions."""

from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID

import click

from pgsched.cli.backfills import backfill, backfills, cancel_backfill
from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY
from pgsched.cli.reply import Reply, json_option, listing, table
from pgsched.domain.duration import format_duration
from pgsched.errors import NotFound

if TYPE_CHECKING:
    from pgsched.store.rows import JobRow

_HIDDEN = {"cron", "timezone", "every", "gap", "overlap", "anchor"}


@click.group()
def jobs() -> None:
    """List, show, pause, resume, trigger and cancel recurring jobs."""


@jobs.command("list")
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option("--state", type=click.Choice(["active", "paused", "invalid", "cancelled"]), help="Only these.")
@click.option("--key", metavar="KEY", help="Only those under this key.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def list_jobs(reply: Reply, /, limit: int, after: UUID | None, **given: Any) -> None:
    """List jobs, newest first."""
    from pgsched.cli.database import ask
    from pgsched.store import listings
    from pgsched.store.rows import JobFilter

    settings = with_database(load_settings({name: given.pop(name) for name in (*DATABASE, "config")}))
    wanted = JobFilter(**given)
    found = ask(settings, lambda connection: listings.list_jobs(connection, wanted, limit=limit, after=after))
    columns = ("id", "client", "key", "state", "schedule", "target", "reason")
    rows = [[_summary(row) if name == "schedule" else getattr(row, name) for name in columns] for row in found]
    following = found[-1].id if len(found) == limit else None
    reply.give(
        {"items": [_shown(row) for row in found], "next": following}, table(columns, rows) if rows else "no jobs"
    )


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one job with its next instant."""
    from pgsched.cli.database import ask
    from pgsched.store import listings

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
@click.option("--note", metavar="TEXT", help="Why; shown as the job's reason.")
@json_option
@click.pass_obj
def pause(reply: Reply, /, id: UUID, note: str | None, **flags: Any) -> None:
    """Pause a job: nothing more of it is planned until it is resumed."""
    done = _verb(flags, "select pgsched.pause(%s, %s::text)", id, note)
    reply.give({"id": id, "changed": done}, "paused" if done else "was paused already")


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def resume(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Resume a paused job from its next instant on."""
    done = _verb(flags, "select pgsched.resume(%s)", id)
    reply.give({"id": id, "changed": done}, "resumed" if done else "was active already")


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def trigger(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Run a job now, besides its schedule. Prints the execution's id."""
    execution = _verb(flags, "select pgsched.trigger(%s)", id)
    reply.give({"id": execution, "job_id": id}, str(execution))


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def cancel(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Cancel a job for good."""
    from pgsched.cli.database import ask, value
    from pgsched.store import calls

    async def end(connection: Any) -> Any:
        if not await calls.is_job(connection, id):
            raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions cancel for one-shots")
        return await value(connection, "select pgsched.cancel(%s)", [id])

    done = ask(with_database(load_settings(flags)), end)
    reply.give({"id": id, "changed": done}, "cancelled" if done else "was cancelled already")


for command in (backfill, backfills, cancel_backfill):
    jobs.add_command(command)


def _verb(flags: dict[str, Any], statement: LiteralString, *parameters: Any) -> Any:
    from pgsched.cli.database import ask, value

    return ask(with_database(load_settings(flags)), lambda connection: value(connection, statement, parameters))


def _shown(row: "JobRow") -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in row.__dataclass_fields__ if name not in _HIDDEN}
    return {**fields, "schedule": _schedule(row)}


def _schedule(row: "JobRow") -> dict[str, str]:
    if row.every is not None:
        return {"every": format_duration(row.every)}
    return {"cron": row.cron or "", "timezone": row.timezone, "gap": row.gap, "overlap": row.overlap}


def _summary(row: "JobRow") -> str:
    return f"{row.cron} {row.timezone}" if row.every is None else f"every {format_duration(row.every)}"
