"""``pgsched executions edit``."""

from typing import Any
from uuid import UUID

import click

from pgsched.cli.answer_tables import Answer, changes_in
from pgsched.cli.command_decorators import command
from pgsched.cli.id_or_key import of_one
from pgsched.cli.options import actor_option, many_option, payload_option
from pgsched.cli.parameters import instant, label


@command()
@of_one("execution")
@click.option("--target", metavar="TARGET", help="Target to call.")
@payload_option
@many_option("--option", "All delivery options it has.")
@many_option("--label", "All labels it has.", label)
@click.option("--fire-at", type=instant, metavar="INSTANT", help="When it fires.")
@click.option(
    "--clear", type=click.Choice(("payload", "options", "labels")), multiple=True, help="Remove this; repeatable."
)
@click.option("--note", metavar="TEXT", help="Reason, for the audit log.")
@actor_option
async def edit(backend: Any, id: UUID, note: str | None, **given: Any) -> Answer:
    """Change the given parts of an execution that has not started, or move one that waits for a retry."""
    changes = changes_in(given, "--fire-at 2026-03-01T09:00:00Z")
    is_changed, fire_at = await backend.change_execution(id, changes, note=note)
    following = f", fires at {fire_at.isoformat()}" if fire_at else ""
    text = f"changed{following}" if is_changed else "was so before"
    return Answer({"id": id, "changed": is_changed, "fire_at": fire_at}, text)
