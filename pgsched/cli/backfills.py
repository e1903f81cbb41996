"""``pgsched jobs backfill`` and its like: running instants of a job that have passed."""

import dataclasses
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.answers import page_of
from pgsched.cli.answers import Answer, cells, changed
from pgsched.cli.commands import command
from pgsched.cli.following import Stage, then_followed, watch_option
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.parameters import identity, instant
from pgsched.cli.reply import bar, table
from pgsched.settings import Settings
from pgsched.store.jobs import backfills

_COLUMNS = (
    *("id", "state", "starts_at", "ends_at", "rate", "instants"),
    *("planned", "passed_over", "live", "finished", "failed"),
)


@command(with_settings=True)
@click.argument("id", type=identity)
@click.option("--from", "start", type=instant, required=True, metavar="INSTANT", help="The first instant of the range.")
@click.option("--to", "end", type=instant, required=True, metavar="INSTANT", help="End of the range, exclusive.")
@click.option("--rate", type=float, default=10, show_default=True, metavar="NUMBER", help="Most executions per second.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@watch_option
@actor_option
async def backfill(
    connection: Any, settings: Settings, id: UUID, dry_run: bool, watch: bool, actor: str | None, **wanted: Any
) -> Answer:
    """Run a job's instants of a range in the past that have not succeeded.

    Prints the backfill's id, and how many instants there are.
    """
    found = await backfills.backfill(connection, id, backfills.Range(**wanted), dry_run=dry_run, actor=actor)
    text = f"{found.instants} instants, {found.run_already} have succeeded, {found.to_run} to run"
    answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
    return then_followed(answer, settings, partial(_stage, found.id)) if watch and found.id else answer


async def _stage(id: UUID, connection: Any) -> Stage:
    found = await backfills.get(connection, id)
    text = f"{found.planned} planned, {found.passed_over} passed over, {found.finished} finished, {found.failed} failed"
    done = found.finished + found.passed_over
    return Stage(f"the backfill {id}", "backfill", found.state, done, found.instants, text)


@command(name="backfills")
@click.argument("id", type=identity)
@page_options()
async def list_backfills(connection: Any, id: UUID, limit: int, after: UUID | None) -> Answer:
    """List a job's backfills with their progress, newest first."""
    found = await backfills.of_job(connection, id, limit=limit + 1, after=after)
    page = page_of(found, limit, lambda row: row.id)
    rows = [
        [*line, bar(one.finished + one.passed_over, one.instants)]
        for line, one in zip(cells(_COLUMNS, page.items), page.items, strict=True)
    ]
    text = table((*_COLUMNS, "progress"), rows) if rows else "no backfills"
    return Answer({"items": page.items, "next": page.next}, text)


@command()
@click.argument("id", type=identity)
@actor_option
async def cancel_backfill(connection: Any, id: UUID, actor: str | None) -> Answer:
    """Cancel a backfill and its executions that still wait."""
    return changed(await backfills.cancel(connection, id, actor=actor), "cancelled", "had ended before", id=id)
