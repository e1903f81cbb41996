"""``pgsched jobs pause``, ``resume`` and ``cancel``: of one job, or of all that a filter names."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changed
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, many_option, options
from pgsched.cli.parameters import identity, label
from pgsched.errors import InvalidInput, NotFound
from pgsched.store.lookup.rows import JobFilter
from pgsched.store.schedule import calls
from pgsched.store.schedule.calls import Verb

_of_jobs = options(
    click.argument("id", type=identity, required=False),
    click.option("--client", metavar="NAME", help="All jobs of this client."),
    many_option("--label", "All jobs with these labels.", label),
    click.option("--note", metavar="TEXT", help="Reason, shown with the job and in the audit log."),
    actor_option,
)


@command()
@_of_jobs
async def pause(connection: Any, **given: Any) -> Answer:
    """Pause a job, or many: nothing more is planned until it is resumed."""
    return await _change(connection, "pause", "paused", "was paused already", **given)


@command()
@_of_jobs
async def resume(connection: Any, **given: Any) -> Answer:
    """Resume a paused job, or many, from the next instant on."""
    return await _change(connection, "resume", "resumed", "was active already", **given)


@command()
@_of_jobs
async def cancel(connection: Any, **given: Any) -> Answer:
    """Cancel a job, or many, for good."""
    return await _change(connection, "cancel", "cancelled", "was cancelled already", **given)


async def _change(
    connection: Any,
    verb: Verb,
    done: str,
    otherwise: str,
    *,
    id: UUID | None,
    client: str | None,
    labels: tuple[tuple[str, str], ...],
    **said: Any,
) -> Answer:
    many = client is not None or bool(labels)
    if (id is not None) == many:
        raise InvalidInput("give the ID of one job, or --client, --label or both for all jobs that have them")
    if id is None:
        wanted = JobFilter(client=client, labels=dict(labels) or None)
        count = await calls.change_all(connection, verb, wanted, **said)
        return Answer({"changed": count}, f"{done}: {count}")
    if verb == "cancel" and not await calls.is_job(connection, id):
        raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions cancel for one-shots")
    verbs: dict[str, Any] = {"pause": calls.pause, "resume": calls.resume, "cancel": calls.cancel}
    return changed(await verbs[verb](connection, id, **said), done, otherwise, id=id)
