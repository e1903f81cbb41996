"""``pgsched jobs pause``, ``resume`` and ``cancel``: of one job, or of all that a filter names."""

from typing import Any, Literal

import click

from pgsched.cli.answers import Answer, changed
from pgsched.cli.commands import command
from pgsched.cli.naming import id_of_one, key_option, name_argument
from pgsched.cli.options import actor_option, many_option, options
from pgsched.cli.parameters import label
from pgsched.errors import InvalidInput

_of_jobs = options(
    name_argument,
    key_option,
    click.option("--client", metavar="NAME", help="Whose key it is; without a job, all jobs of this client."),
    many_option("--label", "All jobs with these labels.", label),
    click.option("--note", metavar="TEXT", help="Reason, shown with the job and in the audit log."),
    actor_option,
)


@command()
@_of_jobs
async def pause(desk: Any, **given: Any) -> Answer:
    """Pause a job, or many: nothing more is planned until it is resumed."""
    return await _change(desk, "pause", "paused", "was paused already", **given)


@command()
@_of_jobs
async def resume(desk: Any, **given: Any) -> Answer:
    """Resume a paused job, or many, from the next instant on."""
    return await _change(desk, "resume", "resumed", "was active already", **given)


@command()
@_of_jobs
async def cancel(desk: Any, **given: Any) -> Answer:
    """Cancel a job, or many, for good."""
    return await _change(desk, "cancel", "cancelled", "was cancelled already", **given)


async def _change(
    desk: Any,
    verb: Literal["pause", "resume", "cancel"],
    done: str,
    otherwise: str,
    *,
    name: str | None,
    key: str | None,
    client: str | None,
    labels: tuple[tuple[str, str], ...],
    note: str | None,
) -> Answer:
    id = await id_of_one(desk, "job", name, key, client)
    if (id is not None and labels) or (id is None and client is None and not labels):
        raise InvalidInput(
            "give the ID or the key of one job, or --client, --label or both for all jobs that have them"
        )
    if id is None:
        of_all = {"pause": desk.pause_all, "resume": desk.resume_all, "cancel": desk.cancel_all}
        count = await of_all[verb](client=client, labels=dict(labels) or None, note=note)
        return Answer({"changed": count}, f"{done}: {count}")
    of_one = {"pause": desk.pause, "resume": desk.resume, "cancel": desk.cancel_job}
    return changed(await of_one[verb](id, note=note), done, otherwise, id=id)
