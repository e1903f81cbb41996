"""Benchmarks of what holds when things go wrong or go on for long."""

import click

from pgsched.cli.bench.options import COUNT, NONE_OR_MORE, measures, progress, repeats, runs_workers, tell
from pgsched.cli.bench.rates import SEED


@click.command()
@click.option(
    "--count", default=100_000, show_default=True, type=click.IntRange(1000), help="How many executions to drain."
)
@click.option(
    "--processes", default=3, show_default=True, type=click.IntRange(2, 64), help="How many worker processes."
)
@click.option(
    "--seconds", default=60, show_default=True, type=click.IntRange(15), help="For how long workers are killed."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")
def chaos(count: int, processes: int, seconds: int, as_json: bool) -> None:
    """Kill and freeze workers, cut listeners off, restart the server, and prove that nothing was lost.

    Always on an embedded server of its own.
    """
    from pgsched.bench.chaos import run_chaos

    tell(run_chaos(count=count, processes=processes, seconds=seconds, progress=progress), as_json)


@click.command()
@click.option("--rate", default=2000, show_default=True, type=COUNT, help="Executions a second.")
@click.option("--seconds", default=1800, show_default=True, type=COUNT, help="For how long the snapshot is held.")
@click.option("--clean", default=60, show_default=True, type=COUNT, help="Seconds at the rate before, without it.")
@click.option("--backlog", default=100_000, show_default=True, type=COUNT, help="Executions of each of the drains.")
@click.option(
    "--readers",
    default=5,
    show_default=True,
    type=NONE_OR_MORE,
    help="How many readers hold a snapshot for 20 seconds, again and again.",
)
@runs_workers()
@SEED
@measures
def pinned(
    rate: int,
    seconds: int,
    clean: int,
    backlog: int,
    readers: int,
    processes: int,
    seed: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Hold a snapshot open, so that nothing can be cleaned up, and tell what becomes of rate, claims and lateness."""
    from pgsched.bench.pinned import run_pinned

    result = run_pinned(
        database_url,
        rate=rate,
        seconds=seconds,
        clean=clean,
        backlog=backlog,
        readers=readers,
        processes=processes,
        seed=seed,
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--waiting", default=20_000_000, show_default=True, type=COUNT, help="How many rows wait over a year.")
@click.option("--rate", default=1000, show_default=True, type=COUNT, help="Executions a second, for the lateness.")
@click.option("--seconds", default=30, show_default=True, type=COUNT, help="For how long at the rate.")
@click.option("--backlog", default=100_000, show_default=True, type=COUNT, help="Executions of each drain.")
@runs_workers()
@SEED
@repeats
@measures
def waiting(
    waiting: int,
    rate: int,
    seconds: int,
    backlog: int,
    processes: int,
    seed: int,
    rounds: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Measure lateness and drain on an empty table and beside many rows that wait, and tell what a row takes."""
    from pgsched.bench.waiting import run_waiting

    result = run_waiting(
        database_url,
        waiting=waiting,
        rate=rate,
        seconds=seconds,
        backlog=backlog,
        processes=processes,
        seed=seed,
        rounds=rounds,
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--seconds", default=3600, show_default=True, type=COUNT, help="For how long.")
@click.option(
    "--rate", default=0, show_default=True, type=NONE_OR_MORE, help="Executions a second; 0: as fast as it goes."
)
@click.option(
    "--backlog", default=100_000, show_default=True, type=COUNT, help="How many are kept waiting to be drained."
)
@click.option("--every", default=10.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between samples.")
@click.option(
    "--warm-up", default=120.0, show_default=True, type=click.FloatRange(0), help="Seconds before samples count."
)
@runs_workers()
@SEED
@measures
def soak(
    seconds: int,
    rate: int,
    backlog: int,
    every: float,
    warm_up: float,
    processes: int,
    seed: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Drain for long, with no history kept, and tell the rate and whether the workers' memory grows."""
    from pgsched.bench.soak import run_soak

    result = run_soak(
        database_url,
        seconds=seconds,
        rate=rate,
        backlog=backlog,
        every=every,
        warm_up=warm_up,
        processes=processes,
        seed=seed,
        progress=progress,
    )
    tell(result, as_json)
