"""Benchmarks of when things happen."""

import click

from pgsched.cli.bench.options import COUNT, NONE_OR_MORE, measures, progress, repeats, runs_workers, tell


@click.command()
@click.option("--rate", default=200, show_default=True, type=COUNT, help="Executions a second.")
@click.option("--seconds", default=20, show_default=True, type=COUNT, help="For how long.")
@runs_workers()
@click.option("--waiting", default=0, type=NONE_OR_MORE, help="How many rows wait in the far future meanwhile.")
@repeats
@measures
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
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--seconds", default=20, show_default=True, type=COUNT, help="For how long.")
@runs_workers()
@measures
def idle(seconds: int, processes: int, database_url: str | None, as_json: bool) -> None:
    """Count what idle workers ask of the database."""
    from pgsched.bench.idle import run_idle

    tell(run_idle(database_url, seconds=seconds, processes=processes), as_json)
