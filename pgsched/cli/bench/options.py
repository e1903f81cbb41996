"""What the benchmarks' commands share: their options, and how they tell what they measured."""

import json
from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]

COUNT = click.IntRange(1)
NONE_OR_MORE = click.IntRange(0)
_PROCESSES = click.IntRange(1, 64)


def measures(command: Command) -> Command:
    """Every benchmark: the server it measures on, and JSON for the next program."""
    command = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")(
        command
    )
    return click.option(
        "--database-url", envvar="PGSCHED_DATABASE_URL", help="The server to measure on; the role needs CREATEDB."
    )(command)


def repeats(command: Command) -> Command:
    """Those that can be measured several times in a row."""
    return click.option(
        "--rounds", default=1, show_default=True, type=COUNT, help="Measure so often; medians and all rounds are told."
    )(command)


def runs_workers(default: int = 2) -> Callable[[Command], Command]:
    """Those that start worker processes."""
    return click.option(
        "--processes", default=default, show_default=True, type=_PROCESSES, help="How many worker processes."
    )


def progress(line: str) -> None:
    """On standard error, so that the result can be piped on."""
    click.echo(line, err=True)


def tell(result: dict[str, Any], as_json: bool) -> None:
    """The result on standard output."""
    if as_json:
        click.echo(json.dumps(result))
        return
    for name, value in result.items():
        click.echo(f"{name.replace('_', ' '):32} {value}")
