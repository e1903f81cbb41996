"""``pgsched executions forecast``: shows the minutes in which more executions fall due than workers can run."""

from typing import Any

import click

from pgsched.cli.answer_tables import Answer
from pgsched.cli.command_decorators import database_command
from pgsched.cli.reply import table
from pgsched.store.lookup import forecast as coming

_ADVICE = "Spread the load (give jobs a jitter or a window, move one-shots to other instants), or run more workers."


@database_command()
@click.option(
    "--minutes",
    type=click.IntRange(1, coming.MOST_MINUTES),
    default=60,
    show_default=True,
    metavar="NUMBER",
    help="Minutes to look ahead.",
)
@click.option(
    "--per-minute",
    type=click.IntRange(1, coming.MOST_PER_MINUTE),
    metavar="NUMBER",
    help="A minute with more executions than this is hot.  [default: the busiest minute's attempts in the last 7 days]",
)
async def forecast(connection: Any, minutes: int, per_minute: int | None) -> Answer:
    """Show how many executions fall due in each coming minute, and which minutes are hot.

    Executions of a minute are counted only until the minute is known to be hot.
    """
    if per_minute is None:
        bound = await coming.bound_of_workers(connection)
    else:
        bound = coming.Bound(per_minute=per_minute, busiest=None)
    found = await coming.forecast(connection, minutes=minutes, per_minute=bound.per_minute)
    hot = any(one.hot for one in found)
    lines = [
        [f"{one.minute:%Y-%m-%d %H:%M}Z", f"{one.due:,}+" if one.hot else f"{one.due:,}", "hot" if one.hot else ""]
        for one in found
    ]
    parts = [table(("minute", "due", ""), lines) if found else "nothing falls due", _said(bound)]
    advice = _ADVICE if hot else None
    told = {"minutes": found, "per_minute": bound.per_minute, "busiest": bound.busiest, "advice": advice}
    return Answer(told, "\n\n".join([*parts, *([advice] if advice else [])]))


def _said(bound: coming.Bound) -> str:
    if bound.busiest is None:
        return f"Minutes with more than {bound.per_minute:,} executions are hot."
    return (
        f"Minutes with more than {bound.per_minute:,} executions are hot: "
        f"in the busiest minute of the last 7 days, workers made {bound.busiest:,} attempts."
    )
