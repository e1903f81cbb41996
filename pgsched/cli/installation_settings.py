"""``pgsched admin installation``: the settings of the installation as a whole."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer, changed, changes_in, shown
from pgsched.cli.command_decorators import database_command
from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import actor_option
from pgsched.store import verbs
from pgsched.store.admin import installation_settings as store

_CLEARABLE = (
    "history-days",
    "audit-days",
    "archive-history",
    "hold-after-restart",
    "hold-after-promotion",
    "hold-after-absence",
)

installation = CommandGroup("installation")


@database_command(installation)
async def show(connection: Any) -> Answer:
    """Show the settings, and whether the installation is held."""
    return shown(await store.get_installation(connection))


@database_command(installation, "set")
@click.option("--history-days", type=int, metavar="NUMBER", help="Days to keep finished executions.")
@click.option("--audit-days", type=int, metavar="NUMBER", help="Days to keep the audit log; 0 means forever.")
@click.option(
    "--archive-history/--no-archive-history",
    default=None,
    help="Drop a day of history only after it has been archived.",
)
@click.option("--hold-after-restart", metavar="DURATION", help="Hold after a crash if workers were away this long.")
@click.option(
    "--hold-after-promotion", metavar="DURATION", help="Hold after a promotion if workers were away this long."
)
@click.option("--hold-after-absence", metavar="DURATION", help="Hold whenever workers were away this long.")
@click.option(
    "--clear",
    type=click.Choice(_CLEARABLE),
    multiple=True,
    help="Reset this setting to its default; for a hold-after setting, never to hold. Repeatable.",
)
@actor_option
async def set_installation(connection: Any, actor: str | None, **given: Any) -> Answer:
    """Change the given settings of the installation."""
    changes = changes_in(given, "--history-days 60")
    return changed(await verbs.set_installation(connection, changes, actor=actor), "set", "unchanged")
