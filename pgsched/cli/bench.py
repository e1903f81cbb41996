"""``pgsched bench``: repeatable benchmarks. Results go to standard output, progress to standard error."""

import json
from collections.abc import Callable
from typing import Any

import click

from pgsched.cli.command_group import CommandGroup
from pgsched.cli.options import no_password

Command = Callable[..., Any]

COUNT = click.IntRange(1)
NONE_OR_MORE = click.IntRange(0)
_PROCESSES = click.IntRange(1, 64)
JSON = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object on standard output.")
SEED = click.option("--seed", default=1, show_default=True, type=NONE_OR_MORE, help="Seed of the random numbers.")
WAITING = click.option("--waiting", default=0, type=NONE_OR_MORE, help="Extra rows that are due in the far future.")
ROUNDS = click.option(
    "--rounds", default=1, show_default=True, type=COUNT, help="Number of rounds; prints each round and the medians."
)
_SERVER = click.option(
    "--database-url",
    envvar="PGSCHED_DATABASE_URL",
    callback=no_password,
    help="PostgreSQL server to measure on; the role needs CREATEDB.",
)


def on_server(command: Command) -> Command:
    """Adds ``--database-url`` and ``--json``."""
    return _SERVER(JSON(command))


def worker_processes(default: int = 2) -> Callable[[Command], Command]:
    """Adds ``--processes``, the number of worker processes to start."""
    return click.option("--processes", default=default, show_default=True, type=_PROCESSES, help="Worker processes.")


def progress(line: str) -> None:
    """Writes a line to standard error, so that standard output contains only the result."""
    click.echo(line, err=True)


def tell(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result))
        return
    for name, value in result.items():
        click.echo(f"{name.replace('_', ' '):32} {value}")


@click.group(cls=CommandGroup)
def bench() -> None:
    """Measure pgsched on a temporary database.

    Without a database URL, an embedded server is started. Each run checks by id that no execution was lost or delivered
    twice.
    """
    from pgsched.bench.processes import CONTEXT

    CONTEXT.set_forkserver_preload(["pgsched.bench.worker"])


@bench.command()
@click.option("--count", default=200_000, show_default=True, type=COUNT, help="Executions to drain.")
@worker_processes()
@WAITING
@click.option(
    "--keep",
    default="all",
    show_default=True,
    type=click.Choice(["all", "nothing"]),
    help='Executions to keep in history. With "nothing", handlers record the number of each execution.',
)
@click.option("--bare/--no-bare", default=True, help="Measure the bare claim-and-settle loop in the same run.")
@SEED
@ROUNDS
@on_server
def drain(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule no-op executions, drain them, and print the rate and the CPU time used."""
    from pgsched.bench.drain import run_drain

    tell(run_drain(database_url, progress=progress, **asked), as_json)


@bench.command()
@click.option("--count", default=100_000, show_default=True, type=COUNT, help="Callbacks to deliver.")
@worker_processes()
@SEED
@ROUNDS
@on_server
def callbacks(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Deliver HTTP callbacks to a local receiver, and compare the rate with that of the delivery client alone."""
    from pgsched.bench.callbacks import run_callbacks

    tell(run_callbacks(database_url, progress=progress, **asked), as_json)


@bench.command()
@click.option("--rate", default=200, show_default=True, type=COUNT, help="Executions per second.")
@click.option("--seconds", default=20, show_default=True, type=COUNT, help="Duration in seconds.")
@worker_processes()
@WAITING
@click.option(
    "--feed/--no-feed",
    default=False,
    help="Schedule during the run, each row three seconds ahead, instead of all rows beforehand.",
)
@SEED
@ROUNDS
@on_server
def lateness(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Measure how late executions start."""
    from pgsched.bench.lateness import run_lateness

    tell(run_lateness(database_url, progress=progress, **asked), as_json)
