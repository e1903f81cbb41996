"""Benchmarks of how much is done in a second."""

import click

from pgsched.cli.bench.options import COUNT, NONE_OR_MORE, measures, progress, repeats, runs_workers, tell


@click.command()
@click.option("--count", default=200_000, show_default=True, type=COUNT, help="How many executions to drain.")
@runs_workers()
@click.option("--waiting", default=0, type=NONE_OR_MORE, help="How many rows wait in the far future meanwhile.")
@click.option("--bare/--no-bare", default=True, help="Measure the bare claim-and-settle loop in the same run.")
@repeats
@measures
def drain(
    count: int, processes: int, waiting: int, bare: bool, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Schedule no-op executions, drain them, and tell the rate."""
    from pgsched.bench.drain import run_drain

    result = run_drain(
        database_url, count=count, processes=processes, waiting=waiting, bare=bare, rounds=rounds, progress=progress
    )
    tell(result, as_json)
