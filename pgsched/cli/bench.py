"""`pgsched bench`: measurements anybody can repeat. The result on standard output, the progress on standard error."""

import json
from collections.abc import Callable
from typing import Any

import click


@click.group()
def bench() -> None:
    """Measure pgsched, on a database made for the occasion and dropped afterwards.

    With no database URL an embedded server is started for it. Each run asserts by identity that nothing was lost and
    nothing was done twice.
    """


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")(
        command
    )
    return click.option(
        "--database-url",
        envvar="PGSCHED_DATABASE_URL",
        help="The server to measure on; the role needs CREATEDB.",
    )(command)


@bench.command()
@click.option(
    "--count",
    default=200_000,
    show_default=True,
    type=click.IntRange(1),
    help="How many executions to drain.",
)
@click.option(
    "--processes", default=2, show_default=True, type=click.IntRange(1, 64), help="How many worker processes."
)
@click.option("--waiting", default=0, type=click.IntRange(0), help="How many rows wait in the far future meanwhile.")
@click.option("--bare/--no-bare", default=True, help="Measure the bare claim-and-settle loop in the same run.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(1), help="Measure so often; medians.")
@_common
def drain(
    count: int, processes: int, waiting: int, bare: bool, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Schedule no-op executions, drain them, and tell the rate."""
    from pgsched.bench.drain import run_drain

    result = run_drain(
        database_url, count=count, processes=processes, waiting=waiting, bare=bare, rounds=rounds, progress=_progress
    )
    _print(result, as_json)


@bench.command()
@click.option("--rate", default=200, show_default=True, type=click.IntRange(1), help="Executions a second.")
@click.option("--seconds", default=20, show_default=True, type=click.IntRange(1), help="For how long.")
@click.option(
    "--processes", default=2, show_default=True, type=click.IntRange(1, 64), help="How many worker processes."
)
@click.option("--waiting", default=0, type=click.IntRange(0), help="How many rows wait in the far future meanwhile.")
@click.option("--rounds", default=1, show_default=True, type=click.IntRange(1), help="Measure so often; medians.")
@_common
def lateness(
    rate: int, seconds: int, processes: int, waiting: int, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Tell how long after its instant an execution starts."""
    from pgsched.bench.lateness import run_lateness

    result = run_lateness(
        database_url,
        rate=rate,
        seconds=seconds,
        processes=processes,
        waiting=waiting,
        rounds=rounds,
        progress=_progress,
    )
    _print(result, as_json)


@bench.command()
@click.option("--seconds", default=20, show_default=True, type=click.IntRange(1), help="For how long.")
@click.option(
    "--processes", default=2, show_default=True, type=click.IntRange(1, 64), help="How many worker processes."
)
@_common
def idle(seconds: int, processes: int, database_url: str | None, as_json: bool) -> None:
    """Count what idle workers ask of the database."""
    from pgsched.bench.idle import run_idle

    _print(run_idle(database_url, seconds=seconds, processes=processes), as_json)


@bench.command()
@click.option(
    "--count",
    default=100_000,
    show_default=True,
    type=click.IntRange(1000),
    help="How many executions to drain.",
)
@click.option(
    "--processes", default=3, show_default=True, type=click.IntRange(2, 64), help="How many worker processes."
)
@click.option(
    "--seconds",
    default=60,
    show_default=True,
    type=click.IntRange(15),
    help="For how long workers are killed.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")
def chaos(count: int, processes: int, seconds: int, as_json: bool) -> None:
    """Kill and freeze workers, cut listeners off, restart the server, and prove that nothing was lost.

    Always on an embedded server of its own.
    """
    from pgsched.bench.chaos import run_chaos

    _print(run_chaos(count=count, processes=processes, seconds=seconds, progress=_progress), as_json)


def _progress(line: str) -> None:
    click.echo(line, err=True)


def _print(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result))
        return
    for name, value in result.items():
        click.echo(f"{name.replace('_', ' '):32} {value}")
