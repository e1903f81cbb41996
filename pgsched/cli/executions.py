"""``pgsched executions``: what waits, runs and has finished."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY
from pgsched.cli.reply import Reply, json_option, listing, table

if TYPE_CHECKING:
    from sqlalchemy import Select

STATUSES = ("scheduled", "retrying", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped")
_COLUMNS = ("id", "client_id", "key", "status", "fire_at", "attempt", "finished_at", "target", "reason")


@click.group()
def executions() -> None:
    """List, show and cancel executions."""


@executions.command("list")
@settings_options(DATABASE)
@click.option("--client", "client_id", metavar="NAME", help="Only this client's.")
@click.option("--status", type=click.Choice(STATUSES), help="Only these.")
@click.option("--queue", metavar="NAME", help="Only those of this queue.")
@click.option("--job", "job_id", type=IDENTITY, metavar="ID", help="Only those of this job.")
@click.option("--key", metavar="KEY", help="Only those under this key.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--before", type=IDENTITY, metavar="ID", help="Go on after a page that ended with this id.")
@json_option
@click.pass_obj
def list_executions(reply: Reply, /, limit: int, **given: Any) -> None:
    """List executions, newest first."""
    from pgsched.cli.database import connected, fetch

    flags = {name: given.pop(name) for name in (*DATABASE, "config")}
    with connected(with_database(load_settings(flags))) as connection:
        rows = fetch(connection, _select(**given).limit(limit))
    following = rows[-1]["id"] if len(rows) == limit else None
    text = table(_COLUMNS, [[row[name] for name in _COLUMNS] for row in rows]) if rows else "no executions"
    reply.give({"executions": rows, "before": following}, text)


@executions.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def show(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Show one execution with its failed attempts."""
    from pgsched.cli.database import connected, fetch, fetch_one
    from pgsched.store.tables import attempts

    query = attempts.select().where(attempts.c.execution_id == id).order_by(attempts.c.attempt)
    with connected(with_database(load_settings(flags))) as connection:
        found = fetch_one(connection, _select(id=id), f"there is no execution {id}")
        tries = fetch(connection, query)
    columns = ("attempt", "finished_at", "duration", "status_code", "error")
    text = listing(found)
    if tries:
        text += "\n\n" + table(columns, [[row[name] for name in columns] for row in tries])
    reply.give({"execution": {**found, "attempts": tries}}, text)


@executions.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@json_option
@click.pass_obj
def cancel(reply: Reply, /, id: UUID, **flags: Any) -> None:
    """Cancel an execution that waits."""
    from pgsched.cli.database import connected, fetch_one

    with connected(with_database(load_settings(flags))) as connection:
        fetch_one(connection, _select(id=id), f"there is no execution {id}")
        row = connection.execute("select pgsched.cancel(%s) as answer", [id]).fetchone()
    done = bool(row and row["answer"])
    reply.give({"id": id, "cancelled": done}, "cancelled" if done else "had ended before")


def _select(*, before: UUID | None = None, **equal: Any) -> "Select[Any]":
    from pgsched.store.tables import status as rows

    query = rows.select().order_by(rows.c.id.desc())
    for name, value in equal.items():
        if value is not None:
            query = query.where(rows.c[name] == value)
    return query if before is None else query.where(rows.c.id < before)
