"""``pgsched jobs``: the recurring definitions."""

from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.answers import job_of
from pgsched.cli.answers import Answer, fill
from pgsched.cli.backfills import backfill, cancel_backfill, list_backfills
from pgsched.cli.commands import command
from pgsched.cli.edits import edit
from pgsched.cli.groups import cancel, pause, resume
from pgsched.cli.options import actor_option, many_option, only_client, page_options
from pgsched.cli.parameters import identity, label
from pgsched.cli.reply import listing, table
from pgsched.domain.duration import format_duration
from pgsched.domain.states import JOB_STATES
from pgsched.errors import NotFound
from pgsched.store.lookup.rows import JobFilter, JobRow
from pgsched.store.schedule import calls

_COLUMNS = ("id", "client", "key", "state", "schedule", "target", "labels", "reason")

jobs = click.Group("jobs", help="List, show, edit, pause, resume, trigger and cancel recurring jobs.")


for _command in (edit, pause, resume, cancel, backfill, list_backfills, cancel_backfill):
    jobs.add_command(_command)


@command(jobs, "list")
@only_client
@click.option("--state", type=click.Choice(JOB_STATES), help="Only these.")
@click.option("--key", metavar="KEY", help="Only those under this key.")
@many_option("--label", "Only those with all of these labels.", label)
@page_options()
async def list_jobs(connection: Any, limit: int, after: UUID | None, **given: Any) -> Answer:
    """List jobs, newest first."""
    from pgsched.store.lookup import listings

    wanted = JobFilter(**given | {"labels": dict(given["labels"]) or None})
    page, note = await fill(partial(listings.list_jobs, connection, wanted), limit, after)
    rows = [[_summary(row) if name == "schedule" else getattr(row, name) for name in _COLUMNS] for row in page.items]
    items = [_shown(row) for row in page.items]
    return Answer({"items": items, "next": page.next}, table(_COLUMNS, rows) if rows else "no jobs", note)


@command(jobs)
@click.argument("id", type=identity)
async def show(connection: Any, id: UUID) -> Answer:
    """Show one job with its next instant."""
    from pgsched.store.lookup import listings

    row = await listings.get_job(connection, id)
    if row is None:
        raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions list for one-shots")
    planned, _ = await listings.planned_instant(connection, id)
    found = {**_shown(row), "next_fire": planned}
    return Answer(found, listing({**found, "schedule": _summary(row)}))


@command(jobs)
@click.argument("id", type=identity)
@actor_option
async def trigger(connection: Any, id: UUID, actor: str | None) -> Answer:
    """Run a job now, besides its schedule. Prints the execution's id."""
    execution = await calls.trigger(connection, id, actor=actor)
    return Answer({"id": execution, "job_id": id}, str(execution))


def _shown(row: JobRow) -> dict[str, Any]:
    import msgspec

    return msgspec.structs.asdict(job_of(row)) | {"runs": row.runs}


def _summary(row: JobRow) -> str:
    return f"{row.cron} {row.timezone}" if row.every is None else f"every {format_duration(row.every)}"
