"""``pgsched jobs backfill`` and its like: running instants of a job that have passed."""

import dataclasses
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, cells, changed, fill
from pgsched.cli.asking import Ask
from pgsched.cli.commands import command
from pgsched.cli.following import Stage, then_followed, watch_option
from pgsched.cli.naming import of_one
from pgsched.cli.options import actor_option, page_options
from pgsched.cli.parameters import Number, identity, instant
from pgsched.cli.reply import bar, table

_COLUMNS = (
    *("id", "state", "starts_at", "ends_at", "rate", "instants"),
    *("planned", "passed_over", "live", "finished", "failed"),
)


@command(with_ask=True)
@of_one("job")
@click.option("--from", "start", type=instant, required=True, metavar="INSTANT", help="The first instant of the range.")
@click.option("--to", "end", type=instant, required=True, metavar="INSTANT", help="End of the range, exclusive.")
@click.option(
    "--rate", type=Number(), default=10, show_default=True, metavar="NUMBER", help="Most executions per second."
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@watch_option
@actor_option
async def backfill(desk: Any, ask: Ask, id: UUID, watch: bool, **wanted: Any) -> Answer:
    """Run a job's instants of a range in the past that have not succeeded.

    Prints the backfill's id, and how many instants there are.
    """
    found = await desk.backfill(id, **wanted)
    text = f"{found.instants} instants, {found.run_already} have succeeded, {found.to_run} to run"
    answer = Answer(dataclasses.asdict(found), f"{found.id}\n{text}" if found.id else text)
    return then_followed(answer, ask, partial(_stage, found.id)) if watch and found.id else answer


async def _stage(id: UUID, desk: Any) -> Stage:
    found = await desk.get_backfill(id)
    text = f"{found.planned} planned, {found.passed_over} passed over, {found.finished} finished, {found.failed} failed"
    done = found.finished + found.passed_over
    return Stage(f"the backfill {id}", "backfill", found.state, done, found.instants, text)


@command(name="backfills")
@of_one("job")
@page_options()
async def list_backfills(desk: Any, id: UUID, limit: int, after: str | None) -> Answer:
    """List a job's backfills with their progress, newest first."""
    page, note = await fill(partial(desk.list_backfills, id), limit, after)
    rows = [
        [*line, bar(one.finished + one.passed_over, one.instants)]
        for line, one in zip(cells(_COLUMNS, page.items), page.items, strict=True)
    ]
    text = table((*_COLUMNS, "progress"), rows) if rows else "no backfills"
    return Answer({"items": page.items, "next": page.next}, text, note)


@command()
@click.argument("id", metavar="BACKFILL", type=identity)
@actor_option
async def cancel_backfill(desk: Any, id: UUID) -> Answer:
    """Cancel a backfill and its executions that still wait."""
    return changed(await desk.cancel_backfill(id), "cancelled", "had ended before", id=id)
