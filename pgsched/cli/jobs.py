"""``pgsched jobs``: recurring jobs."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

import click

from pgsched.api_responses import Job
from pgsched.cli.answer_tables import Answer, changes_in, edited, fill
from pgsched.cli.command_decorators import command, switch
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.id_or_key import of_one
from pgsched.cli.import_ import import_
from pgsched.cli.options import (
    actor_option,
    many_option,
    only,
    ordering_key_option,
    page_options,
    payload_option,
    recurrence_options,
    sort_option,
)
from pgsched.cli.parameters import instant, label
from pgsched.cli.preview import preview
from pgsched.cli.reply import listing, table
from pgsched.domain.states import JOB_STATES
from pgsched.store.lookup.row_types import MOST_OUTCOMES

_COLUMNS = ("id", "client", "key", "state", "schedule", "target", "labels", "reason")
_CLEARABLE = ("payload", "options", "rules", "labels", "ordering-key", "timezone", "gap", "overlap", "anchor")

jobs = CommandGroup("jobs")


for _command in (preview, import_):
    jobs.add_command(_command)


@command(jobs, "list")
@only("client")
@click.option("--state", type=click.Choice(JOB_STATES), help="Only jobs in this state.")
@only("key", "host", "label")
@click.option(
    "--last-outcomes",
    type=click.IntRange(0, MOST_OUTCOMES),
    default=0,
    metavar="NUMBER",
    help="Number of latest outcomes to show for each job.",
)
@sort_option
@page_options()
async def list_jobs(backend: Any, limit: int, after: str | None, **wanted: Any) -> Answer:
    """List jobs."""
    page, note = await fill(partial(backend.list_jobs, **wanted), limit, after)
    columns = (*_COLUMNS, "last_outcomes") if wanted["last_outcomes"] else _COLUMNS
    rows = [[_cell(job, name) for name in columns] for job in page.items]
    text = table(columns, rows) if rows else "no jobs"
    return Answer({"items": list(map(_shown, page.items)), "next": page.next}, text, note)


@command(jobs)
@of_one("job")
async def show(backend: Any, id: UUID) -> Answer:
    """Show one job with its next instant."""
    job = await backend.get_job(id)
    found = _shown(job)
    return Answer(found, listing({**found, "schedule": _summary(job)}))


@command(jobs)
@of_one("job")
@click.option("--target", metavar="TARGET", help="Target to call.")
@recurrence_options(is_new=False)
@click.option("--anchor", type=instant, metavar="INSTANT", help="Instant from which --every counts.")
@payload_option
@many_option("--option", "Delivery option; repeatable. Those given replace all current ones.")
@many_option("--rule", "Recurrence rule; repeatable. Those given replace all current ones.")
@many_option("--label", "Label; repeatable. Those given replace all current ones.", label)
@click.option("--queue", metavar="NAME", help="Queue to put it in.")
@ordering_key_option
@click.option(
    "--clear",
    type=click.Choice(_CLEARABLE),
    multiple=True,
    help="Remove this field or reset it to its default; repeatable.",
)
@click.option(
    "--force", is_flag=True, help="Edit the job even if it is declared; the next pgsched apply reverts the edit."
)
@actor_option
async def edit(backend: Any, id: UUID, force: bool, **given: Any) -> Answer:
    """Change the given parts of a job. Its waiting execution changes at once; a running one does not."""
    is_changed, planned = await backend.change_job(id, changes_in(given, "--cron '0 9 * * *'"), force=force)
    return edited(id, is_changed, planned, "fires next at")


_JOB, _PAUSES = of_one("job"), "Pause a job: no further executions are planned until the job is resumed."
switch(jobs, _JOB, "pause", _PAUSES, "paused", "was already paused")
switch(jobs, _JOB, "resume", "Resume a paused job at its next instant.", "resumed", "was already active")
switch(jobs, _JOB, "cancel_job", "Cancel a job for good.", "cancelled", "was already cancelled")


@command(jobs)
@of_one("job")
@actor_option
async def trigger(backend: Any, id: UUID) -> Answer:
    """Run a job now, in addition to its schedule, and print the execution's id."""
    execution = await backend.trigger(id)
    return Answer({"id": execution, "job_id": id}, str(execution))


def _cell(job: Job, column: str) -> Any:
    if column == "last_outcomes":
        return " ".join(outcome.status for outcome in job.last_outcomes or ())
    return _summary(job) if column == "schedule" else getattr(job, column)


def _shown(job: Job) -> dict[str, Any]:
    import msgspec

    shown = msgspec.structs.asdict(job)
    last = shown.pop("last_outcomes")
    return shown if last is None else shown | {"last_outcomes": [asdict(outcome) for outcome in last]}


def _summary(job: Job) -> str:
    when = job.schedule
    return f"{when.cron} {when.timezone}" if when.every is None else f"every {when.every}"
