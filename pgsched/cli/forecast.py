"""``pgsched forecast``: the minutes in which more falls due than the workers do."""

from typing import Any

import click

from pgsched.cli.answers import Answer
from pgsched.cli.commands import command
from pgsched.cli.reply import table
from pgsched.store.lookup import forecast as coming

_ADVICE = (
    "More falls due in these minutes than the bound: give the jobs a jitter or a window, or one-shots other instants."
)


@command()
@click.option(
    "--minutes",
    type=click.IntRange(1, coming.MOST_MINUTES),
    default=60,
    show_default=True,
    metavar="NUMBER",
    help="So many minutes ahead.",
)
@click.option(
    "--per-minute",
    type=click.IntRange(1, coming.MOST_PER_MINUTE),
    default=10_000,
    show_default=True,
    metavar="NUMBER",
    help="A minute with more is hot.",
)
async def forecast(connection: Any, minutes: int, per_minute: int) -> Answer:
    """Show how many executions fall due in each coming minute, and which minutes are hot.

    Of a hot minute no more is counted than shows that it is.
    """
    found = await coming.forecast(connection, minutes=minutes, per_minute=per_minute)
    hot = any(one.hot for one in found)
    lines = [[f"{one.minute:%Y-%m-%d %H:%M}Z", f"{one.due:,}+" if one.hot else f"{one.due:,}"] for one in found]
    text = table(("minute", "due"), lines) if found else "nothing falls due"
    advice = _ADVICE if hot else None
    return Answer({"minutes": found, "advice": advice}, f"{text}\n\n{advice}" if advice else text)
