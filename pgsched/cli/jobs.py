"""``pgsched jobs``: the recurring definitions."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.answers import Job, job_of, jobs_of
from pgsched.cli.answers import Answer, fill
from pgsched.cli.backfills import backfill, cancel_backfill, list_backfills
from pgsched.cli.commands import command
from pgsched.cli.edits import edit
from pgsched.cli.groups import cancel, pause, resume
from pgsched.cli.options import actor_option, many_option, only_client, page_options, sort_option
from pgsched.cli.parameters import host_name, identity, label
from pgsched.cli.reply import listing, table
from pgsched.domain.duration import format_duration
from pgsched.domain.states import JOB_STATES
from pgsched.errors import NotFound
from pgsched.store.lookup.rows import MOST_OUTCOMES, JobFilter, JobRow
from pgsched.store.schedule import calls

_COLUMNS = ("id", "client", "key", "state", "schedule", "target", "labels", "reason")

jobs = click.Group("jobs", help="List, show, edit, pause, resume, trigger and cancel recurring jobs.")


for _command in (edit, pause, resume, cancel, backfill, list_backfills, cancel_backfill):
    jobs.add_command(_command)


@command(jobs, "list")
@only_client
@click.option("--state", type=click.Choice(JOB_STATES), help="Only these.")
@click.option("--key", metavar="KEY", help="Only those with this key.")
@click.option("--host", type=host_name, metavar="HOST", help="Only those whose target is on this host, at any port.")
@many_option("--label", "Only those with all of these labels.", label)
@click.option(
    "--last-outcomes",
    "most",
    type=click.IntRange(0, MOST_OUTCOMES),
    default=0,
    metavar="NUMBER",
    help="Show this many of each job's last outcomes.",
)
@sort_option
@page_options()
async def list_jobs(connection: Any, sort: str, limit: int, after: UUID | None, most: int, **given: Any) -> Answer:
    """List jobs."""
    from pgsched.store.lookup import listings
    from pgsched.store.lookup.order import Order

    wanted = JobFilter(**given | {"labels": dict(given["labels"]) or None})
    page, note = await fill(partial(listings.list_jobs, connection, wanted, order=Order(sort)), limit, after)
    last = await listings.last_outcomes(connection, [row.id for row in page.items], most)
    found = jobs_of(page.items, last) if most else list(map(job_of, page.items))
    columns = (*_COLUMNS, "last_outcomes") if most else _COLUMNS
    rows = [[_cell(row, job, name) for name in columns] for row, job in zip(page.items, found, strict=True)]
    items = [_shown(row, job) for row, job in zip(page.items, found, strict=True)]
    return Answer({"items": items, "next": page.next}, table(columns, rows) if rows else "no jobs", note)


@command(jobs)
@click.argument("id", type=identity)
async def show(connection: Any, id: UUID) -> Answer:
    """Show one job with its next instant."""
    from pgsched.store.lookup import listings

    row = await listings.get_job(connection, id)
    if row is None:
        raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions list for one-shots")
    planned, _ = await listings.planned_instant(connection, id)
    found = {**_shown(row, job_of(row)), "next_fire": planned}
    return Answer(found, listing({**found, "schedule": _summary(row)}))


@command(jobs)
@click.argument("id", type=identity)
@actor_option
async def trigger(connection: Any, id: UUID, actor: str | None) -> Answer:
    """Run a job now, in addition to its schedule. Prints the execution's id."""
    execution = await calls.trigger(connection, id, actor=actor)
    return Answer({"id": execution, "job_id": id}, str(execution))


def _cell(row: JobRow, job: Job, column: str) -> Any:
    if column == "last_outcomes":
        return " ".join(outcome.status for outcome in job.last_outcomes or ())
    return _summary(row) if column == "schedule" else getattr(row, column)


def _shown(row: JobRow, job: Job) -> dict[str, Any]:
    import msgspec

    shown = msgspec.structs.asdict(job) | {"runs": row.runs}
    last = shown.pop("last_outcomes")
    return shown if last is None else shown | {"last_outcomes": [asdict(outcome) for outcome in last]}


def _summary(row: JobRow) -> str:
    return f"{row.cron} {row.timezone}" if row.every is None else f"every {format_duration(row.every)}"
