"""Benchmarks of how much is done in a second."""

import click

from pgsched.cli.bench.options import COUNT, NONE_OR_MORE, measures, progress, repeats, runs_workers, tell

SEED = click.option("--seed", default=1, show_default=True, type=NONE_OR_MORE, help="What random draws start from.")


@click.command()
@click.option("--count", default=200_000, show_default=True, type=COUNT, help="How many executions to drain.")
@runs_workers()
@click.option("--waiting", default=0, type=NONE_OR_MORE, help="How many rows wait in the far future meanwhile.")
@click.option(
    "--keep",
    default="all",
    show_default=True,
    type=click.Choice(["all", "nothing"]),
    help="What is kept in history. With nothing, handlers note the number of each execution.",
)
@click.option("--bare/--no-bare", default=True, help="Measure the bare claim-and-settle loop in the same run.")
@SEED
@repeats
@measures
def drain(
    count: int,
    processes: int,
    waiting: int,
    keep: str,
    bare: bool,
    seed: int,
    rounds: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Schedule no-op executions, drain them, and tell the rate and where the time went."""
    from pgsched.bench.drain import run_drain

    result = run_drain(
        database_url,
        count=count,
        processes=processes,
        waiting=waiting,
        keep=keep,
        bare=bare,
        seed=seed,
        rounds=rounds,
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--count", default=100_000, show_default=True, type=COUNT, help="How many callbacks to deliver.")
@runs_workers()
@SEED
@repeats
@measures
def callbacks(count: int, processes: int, seed: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Deliver HTTP callbacks to a local receiver, beside the delivery client alone and a bare protocol."""
    from pgsched.bench.callbacks import run_callbacks

    result = run_callbacks(database_url, count=count, processes=processes, seed=seed, rounds=rounds, progress=progress)
    tell(result, as_json)


@click.command()
@click.option("--count", default=50_000, show_default=True, type=COUNT, help="How many runs, six of each job.")
@runs_workers()
@click.option(
    "--cron",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Which share of the jobs recurs by a cron expression; the others do by an interval.",
)
@SEED
@repeats
@measures
def recurring(
    count: int, processes: int, cron: float, seed: int, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Drain runs of recurring jobs, which plans their next ones, and as many one-shots; tell the cost."""
    from pgsched.bench.recurring import run_recurring

    result = run_recurring(
        database_url, count=count, processes=processes, cron=cron, seed=seed, rounds=rounds, progress=progress
    )
    tell(result, as_json)


@click.command()
@click.option("--jobs", default=100_000, show_default=True, type=COUNT, help="How many recurring jobs.")
@runs_workers()
@click.option(
    "--lead",
    default=20.0,
    show_default=True,
    type=click.FloatRange(2, 600),
    help="Seconds before the instant in which they are made.",
)
@SEED
@repeats
@measures
def fleet(
    jobs: int, processes: int, lead: float, seed: int, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Run recurring jobs that are all due at the same second, and plan the next row of each."""
    from pgsched.bench.fleet import run_fleet

    result = run_fleet(
        database_url, jobs=jobs, processes=processes, lead=lead, seed=seed, rounds=rounds, progress=progress
    )
    tell(result, as_json)
