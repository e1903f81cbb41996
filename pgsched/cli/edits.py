"""``pgsched jobs edit``, and the flags that say how a job's schedule is to be changed."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answers import Answer, changes_in
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, many_option, ordering_key_option, payload_option, recurrence_options
from pgsched.cli.parameters import identity, instant, label

_CLEARABLE = ("payload", "options", "rules", "labels", "ordering-key", "timezone", "gap", "overlap", "anchor")


@command()
@click.argument("id", type=identity)
@click.option("--target", metavar="TARGET", help="Target to call.")
@recurrence_options(is_new=False)
@click.option("--anchor", type=instant, metavar="INSTANT", help="Instant that --every starts from.")
@payload_option
@many_option("--option", "All delivery options it has.")
@many_option("--rule", "All rules it has.")
@many_option("--label", "All labels it has.", label)
@click.option("--queue", metavar="NAME", help="Queue to put it in.")
@ordering_key_option
@click.option(
    "--clear", type=click.Choice(_CLEARABLE), multiple=True, help="Remove this, or reset it to its default; repeatable."
)
@click.option("--force", is_flag=True, help="Edit it although it is declared elsewhere; the next apply reverts this.")
@actor_option
async def edit(connection: Any, id: UUID, force: bool, actor: str | None, **given: Any) -> Answer:
    """Change the given parts of a job. Its waiting execution changes at once; one that runs does not."""
    from pgsched.store.jobs import edits
    from pgsched.store.lookup import listings

    changes = edits.changes_of(job_changes_in(given))
    is_changed = await edits.edit_job(connection, id, changes, actor=actor, force=force)
    planned, _ = await listings.planned_instant(connection, id)
    following = f", fires next at {planned.isoformat()}" if planned else ""
    text = f"changed{following}" if is_changed else "was so before"
    return Answer({"id": id, "changed": is_changed, "next_fire": planned}, text)


def job_changes_in(given: dict[str, Any]) -> dict[str, Any]:
    """The changes that the flags ask for, by the names of ``pgsched.edit``. Raises InvalidInput if there are none."""
    import msgspec

    found = changes_in(given, "--cron '0 9 * * *'")
    if found.get("payload") is not None:
        found["payload"] = msgspec.Raw(found["payload"].encode())
    return found
