"""Benchmarks of when things happen."""

import click

from pgsched.cli.bench.options import COUNT, NONE_OR_MORE, measures, progress, repeats, runs_workers, tell
from pgsched.cli.bench.rates import SEED


@click.command()
@click.option("--rate", default=200, show_default=True, type=COUNT, help="Executions a second.")
@click.option("--seconds", default=20, show_default=True, type=COUNT, help="For how long.")
@runs_workers()
@click.option("--waiting", default=0, type=NONE_OR_MORE, help="How many rows wait in the far future meanwhile.")
@click.option(
    "--feed/--no-feed",
    default=False,
    help="Schedule while it runs, each row three seconds ahead, instead of all of them beforehand.",
)
@SEED
@repeats
@measures
def lateness(
    rate: int,
    seconds: int,
    processes: int,
    waiting: int,
    feed: bool,
    seed: int,
    rounds: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Tell how long after its instant an execution starts."""
    from pgsched.bench.lateness import run_lateness

    result = run_lateness(
        database_url,
        rate=rate,
        seconds=seconds,
        processes=processes,
        waiting=waiting,
        feed=feed,
        seed=seed,
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
