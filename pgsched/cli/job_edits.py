"""``pgsched jobs edit``."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changes_in
from pgsched.cli.command_decorators import command
from pgsched.cli.id_or_key import of_one
from pgsched.cli.options import actor_option, many_option, ordering_key_option, payload_option, recurrence_options
from pgsched.cli.parameters import instant, label

_CLEARABLE = ("payload", "options", "rules", "labels", "ordering-key", "timezone", "gap", "overlap", "anchor")


@command()
@of_one("job")
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
async def edit(backend: Any, id: UUID, force: bool, **given: Any) -> Answer:
    """Change the given parts of a job. Its waiting execution changes at once; one that runs does not."""
    is_changed, planned = await backend.change_job(id, changes_in(given, "--cron '0 9 * * *'"), force=force)
    following = f", fires next at {planned.isoformat()}" if planned else ""
    text = f"changed{following}" if is_changed else "was so before"
    return Answer({"id": id, "changed": is_changed, "fire_at": planned}, text)
