"""``pgsched admin recover``: shows what a restored or copied database would fire, and releases the installation."""

from dataclasses import asdict
from typing import Any

import click

from pgsched.cli.answer_tables import Answer, cells
from pgsched.cli.command_decorators import database_command
from pgsched.cli.options import actor_option, options
from pgsched.cli.parameters import Number, duration
from pgsched.cli.reply import table
from pgsched.errors import InvalidInput
from pgsched.settings import Settings
from pgsched.store import internal_verbs, verbs
from pgsched.store.admin import installation_settings, recovery_preview
from pgsched.store.admin.ending_recovery import HoldPolicy, ReleasedInstallation
from pgsched.store.core.new_connection import lending

_BY_CLIENT = ("client", "queue", "executions", "in_hand", "of_jobs", "an_hour_late", "a_day_late", "oldest")
_SAMPLE = ("id", "client", "target", "key", "scheduled_for")
_CALLS = ("called", "executions")


@database_command(with_settings=True)
@options(
    click.option(
        "--release", is_flag=True, help="Apply --skip-older-than, --rate and --hold-client, then let workers continue."
    ),
    click.option(
        "--skip-older-than",
        type=duration,
        metavar="DURATION",
        help="Cancel executions that are overdue by more than this duration.",
    ),
    click.option(
        "--rate",
        type=Number(0.001, 100_000),
        metavar="NUMBER",
        help="Maximum number of overdue executions to fire per second.",
    ),
    click.option("--hold-client", "held", multiple=True, metavar="NAME", help="Keep holding this client; repeatable."),
    click.option("--hold", is_flag=True, help="Hold the installation: nothing starts until it is released."),
    click.option("--note", metavar="TEXT", help="Reason, shown with the hold and in the audit log."),
    actor_option,
)
async def recover(connection: Any, settings: Settings, hold: bool, release: bool, **given: Any) -> Answer:
    """Show what a restored or copied database would fire, or release the installation.

    Without --release or --hold, changes nothing, except that it holds an installation whose workers last ran on another
    server. With --release, holds the installation, applies the options, and then lets workers continue.
    """
    await internal_verbs.check_same_server(connection)
    said = {"note": given.pop("note"), "actor": given.pop("actor")}
    policy = HoldPolicy(**given, **said)
    if not release and policy != HoldPolicy(**said):
        raise InvalidInput("--skip-older-than, --rate and --hold-client need --release: add this flag")
    if hold and release:
        raise InvalidInput("--hold and --release cannot be combined: give one of them")
    found = await recovery_preview.preview(connection)
    if hold or release:  # the release may take a while, and must apply to the rows just found
        await verbs.pause(connection, "installation", **said)
    state = await installation_settings.get_installation(connection)
    answer = {"held_since": state.held_since, "reason": state.reason, **asdict(found)}
    if not release:
        return Answer({**answer, "released": False}, _text(state, found), _NEXT if state.held_since else None)
    await connection.commit()
    async with lending(settings.database_url or "") as lend:
        done = await policy.carry_out(lend)
    return Answer({**answer, **asdict(done)}, _released(done))


_NEXT = (
    "nothing starts until you run pgsched admin recover --release, optionally with --skip-older-than, --rate or "
    "--hold-client"
)


def _text(state: installation_settings.Installation, found: recovery_preview.RecoveryPreview) -> str:
    held = f"held since {state.held_since:%Y-%m-%d %H:%M:%SZ}: {state.reason}" if state.held_since else "not held"
    parts = [held]
    for title, columns, lines in (
        ("fires at once", _BY_CLIENT, found.overdue),
        ("overdue the longest", _SAMPLE, found.oldest),
        ("called now or within a day", _CALLS, found.calls),
    ):
        parts.append(f"{title}:\n{table(columns, cells(columns, lines))}" if lines else f"{title}: nothing")
    return "\n\n".join(parts)


def _released(done: ReleasedInstallation) -> str:
    return f"released; {done.skipped:,} skipped, {done.spread:,} postponed to keep to the rate"
