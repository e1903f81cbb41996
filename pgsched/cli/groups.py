"""``pgsched jobs pause``, ``resume`` and ``cancel``: of one job, or of all that a filter names."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import click

from pgsched.cli.configuration import DATABASE, load_settings, settings_options, with_database
from pgsched.cli.parameters import IDENTITY, LABEL, actor_option
from pgsched.cli.reply import Command, Reply, json_option
from pgsched.errors import InvalidInput, NotFound


def _of_jobs(command: Command) -> Command:
    """Gives a command what it takes: the job or the filter, why, and who."""
    for decorate in (
        json_option,
        actor_option,
        click.option("--note", metavar="TEXT", help="Why; for the audit log, and as the job's reason."),
        click.option(
            "--label", "labels", type=LABEL, multiple=True, metavar="NAME=TEXT", help="All jobs with these labels."
        ),
        click.option("--client", metavar="NAME", help="All jobs of this client."),
        click.argument("id", type=IDENTITY, required=False),
        settings_options(DATABASE),
    ):
        command = decorate(command)
    return command


@click.command()
@_of_jobs
@click.pass_obj
def pause(reply: Reply, /, **given: Any) -> None:
    """Pause a job, or many: nothing more of it is planned until it is resumed."""
    _change(reply, "pause", given, "paused", "was paused already")


@click.command()
@_of_jobs
@click.pass_obj
def resume(reply: Reply, /, **given: Any) -> None:
    """Resume a paused job, or many, from the next instant on."""
    _change(reply, "resume", given, "resumed", "was active already")


@click.command()
@_of_jobs
@click.pass_obj
def cancel(reply: Reply, /, **given: Any) -> None:
    """Cancel a job, or many, for good."""
    _change(reply, "cancel", given, "cancelled", "was cancelled already")


def _change(reply: Reply, verb: Any, given: dict[str, Any], done: str, before: str) -> None:
    from pgsched.cli.database import ask
    from pgsched.store.lookup.rows import JobFilter
    from pgsched.store.schedule import calls

    id, client, labels = (given.pop(name) for name in ("id", "client", "labels"))
    said = {name: given.pop(name) for name in ("note", "actor")}
    settings, many = with_database(load_settings(given)), client is not None or bool(labels)
    if (id is not None) == many:
        raise InvalidInput("give the ID of one job, or --client, --label or both for all jobs that have them")
    if many:
        wanted = JobFilter(client=client, labels=dict(labels) or None)
        count = ask(settings, lambda connection: calls.change_all(connection, verb, wanted, **said))
        reply.give({"changed": count}, f"{done}: {count}")
    else:
        changed = ask(settings, _one(verb, id, said))
        reply.give({"id": id, "changed": changed}, done if changed else before)


def _one(verb: str, id: UUID, said: dict[str, Any]) -> Callable[[Any], Any]:
    from pgsched.store.schedule import calls

    async def change(connection: Any) -> bool:
        if verb == "pause":
            return await calls.pause(connection, id, **said)
        if verb == "resume":
            return await calls.resume(connection, id, **said)
        if not await calls.is_job(connection, id):
            raise NotFound(f"there is no job {id}; see pgsched jobs list, and pgsched executions cancel for one-shots")
        return await calls.cancel(connection, id, **said)

    return change
