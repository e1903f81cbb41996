"""``pgsched jobs``: the recurring definitions."""

from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY
from pgsched.cli.reply import Reply, json_option, listing, table
from pgsched.domain.duration import format_duration

if TYPE_CHECKING:
    from sqlalchemy import Select

_COLUMNS = ("id", "client_id", "key", "state", "schedule", "target", "reason")


@click.group()
def jobs() -> None:
    """List, show, pause, resume, trigger and cancel recurring jobs."""


@jobs.command("list")
@settings_options(DATABASE)
@click.option("--client", metavar="NAME", help="Only this client's.")
@click.option("--state", type=click.Choice(["active", "paused", "invalid", "cancelled"]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--before", type=IDENTITY, metavar="ID", help="Go on after a page that ended with this id.")
@json_option
@click.pass_obj
def list_jobs(
    reply: Reply, /, client: str | None, state: str | None, limit: int, before: UUID | None, **flags: Any
) -> None:
    """List jobs, newest first."""
    from pgsched.cli.database import connected, fetch

    with connected(with_database(load_settings(flags))) as connection:
        found = fetch(connection, _select(client=client, state=state, before=before).limit(limit))
    rows = [{**row, "schedule": _schedule(row)} for row in found]
    following = found[-1]["id"] if len(found) == limit else None
    text = table(_COLUMNS, [[row[name] for name in _COLUMNS] for row in rows]) if rows else "no jobs"
    reply.give({"jobs": found, "before": following}, text)


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one job with its next instant."""
    from pgsched.cli.database import connected, fetch, fetch_one
    from pgsched.store.tables import status

    with connected(with_database(load_settings(flags))) as connection:
        job = fetch_one(connection, _select(id=id), f"there is no job {id}")
        waiting = status.select().where(status.c.job_id == id, status.c.finished_at.is_(None))
        instants = [row["fire_at"] for row in fetch(connection, waiting.order_by(status.c.fire_at))]
    shown = {**job, "next": instants[0] if instants else None}
    reply.give({"job": shown}, listing(shown))


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@click.option("--note", metavar="TEXT", help="Why; shown as the job's reason.")
@json_option
@click.pass_obj
def pause(reply: Reply, /, id: UUID, note: str | None, **flags: Any) -> None:
    """Pause a job: nothing more of it is due until it is resumed."""
    done = _verb(flags, "select pgsched.pause(%(id)s, %(note)s::text) as answer", {"id": id, "note": note})
    reply.give({"id": id, "paused": done}, "paused" if done else "was paused already")


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def resume(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Resume a paused job from its next instant on."""
    done = _verb(flags, "select pgsched.resume(%(id)s) as answer", {"id": id})
    reply.give({"id": id, "resumed": done}, "resumed" if done else "was active already")


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def trigger(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Run a job now, besides its schedule. Prints the execution's id."""
    execution = _verb(flags, "select pgsched.trigger(%(id)s) as answer", {"id": id})
    reply.give({"id": id, "execution_id": execution}, str(execution))


@jobs.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def cancel(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Cancel a job for good."""
    from pgsched.cli.database import connected, fetch_one

    with connected(with_database(load_settings(flags))) as connection:
        fetch_one(connection, _select(id=id), f"there is no job {id}")
        row = connection.execute("select pgsched.cancel(%s) as answer", [id]).fetchone()
    done = bool(row and row["answer"])
    reply.give({"id": id, "cancelled": done}, "cancelled" if done else "was cancelled already")


def _verb(flags: dict[str, Any], statement: LiteralString, parameters: dict[str, Any]) -> Any:
    from pgsched.cli.database import connected

    with connected(with_database(load_settings(flags))) as connection:
        row = connection.execute(statement, parameters).fetchone()
    return row and row["answer"]


def _select(
    *, id: UUID | None = None, client: str | None = None, state: str | None = None, before: UUID | None = None
) -> "Select[Any]":
    from pgsched.store.tables import jobs as rows

    query = rows.select().order_by(rows.c.id.desc())
    if id is not None:
        query = query.where(rows.c.id == id)
    if client is not None:
        query = query.where(rows.c.client_id == client)
    if state is not None:
        query = query.where(rows.c.state == state)
    if before is not None:
        query = query.where(rows.c.id < before)
    return query


def _schedule(job: dict[str, Any]) -> str:
    return f"{job['cron']} {job['timezone']}" if job["cron"] else f"every {format_duration(job['every'])}"
