"""``pgsched jobs backfill`` and its like: running instants of a job that have passed."""

import dataclasses
from datetime import datetime
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY, INSTANT, actor_option
from pgsched.cli.reply import Reply, json_option, table

_COLUMNS = (
    "id",
    "state",
    "starts_at",
    "ends_at",
    "rate",
    "instants",
    "planned",
    "passed_over",
    "live",
    "finished",
    "failed",
)


@click.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@click.option("--from", "start", type=INSTANT, required=True, metavar="INSTANT", help="The first instant of the range.")
@click.option("--to", "end", type=INSTANT, required=True, metavar="INSTANT", help="Where the range ends, exclusive.")
@click.option("--rate", type=float, default=10, show_default=True, metavar="NUMBER", help="At most so many a second.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@actor_option
@json_option
@click.pass_obj
def backfill(
    reply: Reply,
    /,
    id: UUID,
    start: datetime,
    end: datetime,
    rate: float,
    dry_run: bool,
    actor: str | None,
    **flags: Any,
) -> None:
    """Run a job's instants of a range in the past that have not succeeded.

    Prints the backfill's id, and how many instants there are.
    """
    from pgsched.cli.database import ask
    from pgsched.store.jobs import backfills

    wanted = backfills.Range(start=start, end=end, rate=rate)

    async def begin(connection: Any) -> Any:
        extent = await backfills.measure(connection, id, wanted)
        if dry_run:
            return None, extent
        return await backfills.start(connection, id, wanted, instants=extent.instants, actor=actor), extent

    started, extent = ask(with_database(load_settings(flags)), begin)
    counted = {"instants": extent.instants, "run_already": extent.run_already, "to_run": extent.to_run}
    text = f"{extent.instants} instants, {extent.run_already} have succeeded, {extent.to_run} to run"
    reply.give({"id": started, "job_id": id, **counted}, text if started is None else f"{started}\n{text}")


@click.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most rows to show.")
@click.option("--after", type=IDENTITY, metavar="ID", help="Go on after the page that answered with this as next.")
@json_option
@click.pass_obj
def backfills(reply: Reply, /, id: UUID, limit: int, after: UUID | None, **flags: Any) -> None:
    """List a job's backfills and how far they are, newest first."""
    from pgsched.cli.database import ask
    from pgsched.store.jobs import backfills

    settings = with_database(load_settings(flags))
    found = ask(settings, lambda connection: backfills.of_job(connection, id, limit=limit, after=after))
    rows = [[getattr(row, name) for name in _COLUMNS] for row in found]
    following = found[-1].id if len(found) == limit else None
    items = [dataclasses.asdict(row) for row in found]
    reply.give({"items": items, "next": following}, table(_COLUMNS, rows) if rows else "no backfills")


@click.command()
@settings_options(DATABASE)
@click.argument("id", type=IDENTITY)
@actor_option
@json_option
@click.pass_obj
def cancel_backfill(reply: Reply, /, id: UUID, actor: str | None, **flags: Any) -> None:
    """Cancel a backfill: what it planned and still waits is cancelled."""
    from pgsched.cli.database import ask
    from pgsched.store.jobs import backfills

    settings = with_database(load_settings(flags))
    done = ask(settings, lambda connection: backfills.cancel(connection, id, actor=actor))
    reply.give({"id": id, "changed": done}, "cancelled" if done else "had ended before")
