"""Benchmarks of how executions come in, and how soon they are seen."""

import click

from pgsched.cli.bench.options import COUNT, measures, progress, repeats, runs_workers, tell


@click.command()
@click.option("--count", default=200_000, show_default=True, type=COUNT, help="How many executions each way puts in.")
@repeats
@measures
def bulk(count: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Schedule many at once from one process, by each way there is, and tell the rows a second."""
    from pgsched.bench.bulk import run_bulk

    tell(run_bulk(database_url, count=count, rounds=rounds, progress=progress), as_json)


@click.command()
@click.option("--count", default=5_000, show_default=True, type=COUNT, help="How many calls of each way.")
@repeats
@measures
def schedule(count: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Schedule one by one on one connection, and tell how long a call takes with its commit."""
    from pgsched.bench.schedule import run_schedule

    tell(run_schedule(database_url, count=count, rounds=rounds, progress=progress), as_json)


@click.command()
@click.option("--callers", default=8, show_default=True, type=click.IntRange(1, 64), help="How many call at once.")
@click.option("--seconds", default=5, show_default=True, type=COUNT, help="For how long, each way.")
@click.option("--queues", default=1, show_default=True, type=click.IntRange(1, 100), help="How many queues there are.")
@repeats
@measures
def requests(callers: int, seconds: int, queues: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Schedule through the API, without keys and with a new one each time, and compare the rates."""
    from pgsched.bench.requests import run_requests

    result = run_requests(
        database_url, callers=callers, seconds=seconds, queues=queues, rounds=rounds, progress=progress
    )
    tell(result, as_json)


@click.command()
@click.option("--writers", default=8, show_default=True, type=click.IntRange(1, 64), help="How many schedule at once.")
@click.option("--seconds", default=10, show_default=True, type=COUNT, help="For how long, each way.")
@runs_workers()
@repeats
@measures
def writers(writers: int, seconds: int, processes: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Have many writers schedule for now, with notifications and without, and compare their rates."""
    from pgsched.bench.writers import run_writers

    result = run_writers(
        database_url, writers=writers, seconds=seconds, processes=processes, rounds=rounds, progress=progress
    )
    tell(result, as_json)


@click.command()
@click.option("--count", default=500, show_default=True, type=COUNT, help="How many executions, one at a time.")
@click.option("--seed", default=1, show_default=True, type=int, help="Of the random gaps between them.")
@runs_workers()
@repeats
@measures
def pickup(count: int, seed: int, processes: int, rounds: int, database_url: str | None, as_json: bool) -> None:
    """Tell how soon after its commit an idle worker starts what was scheduled for now."""
    from pgsched.bench.pickup import run_pickup

    result = run_pickup(database_url, count=count, processes=processes, seed=seed, rounds=rounds, progress=progress)
    tell(result, as_json)
