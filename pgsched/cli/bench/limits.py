"""Benchmarks of what keeps clients and targets apart."""

from typing import Any

import click

from pgsched.cli.bench.options import COUNT, measures, progress, repeats, runs_workers, tell
from pgsched.cli.bench.rates import SEED

_Parsed = list[int]


class _Weights(click.ParamType[_Parsed]):
    """Whole numbers from 1 to 100, at least two of them."""

    name = "weights"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> _Parsed:
        if isinstance(value, list):
            return value
        try:
            weights = [int(word) for word in value.split(",")]
        except ValueError:
            weights = []
        if len(weights) < 2 or not all(1 <= weight <= 100 for weight in weights):
            self.fail(f"{value!r} are no weights: write two or more numbers from 1 to 100, such as 1,2,5", param, ctx)
        return weights


@click.command()
@click.option("--backlog", default=1_000_000, show_default=True, type=COUNT, help="What the limited client has due.")
@click.option("--limit", default=100, show_default=True, type=COUNT, help="How many of them may begin in a second.")
@click.option("--rate", default=50, show_default=True, type=COUNT, help="Executions a second of the other client.")
@click.option("--seconds", default=60, show_default=True, type=click.IntRange(8), help="For how long.")
@runs_workers(4)
@SEED
@repeats
@measures
def tenants(
    backlog: int,
    limit: int,
    rate: int,
    seconds: int,
    processes: int,
    seed: int,
    rounds: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Tell how late a client's executions start, alone and beside a client far over its limit."""
    from pgsched.bench.tenants import run_tenants

    result = run_tenants(
        database_url,
        backlog=backlog,
        limit=limit,
        rate=rate,
        seconds=seconds,
        processes=processes,
        seed=seed,
        rounds=rounds,
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--backlog", default=1_000_000, show_default=True, type=COUNT, help="What each client has due.")
@click.option("--weights", default="1,2,5", show_default=True, type=_Weights(), help="The weight of each client.")
@click.option("--seconds", default=5.0, show_default=True, type=click.FloatRange(0.5), help="For how long.")
@runs_workers()
@repeats
@measures
def fairness(
    backlog: int,
    weights: _Parsed,
    seconds: float,
    processes: int,
    rounds: int,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Tell what share of saturated workers each of several clients gets, beside the share that its weight asks for."""
    from pgsched.bench.fairness import run_fairness

    result = run_fairness(
        database_url,
        backlog=backlog,
        weights=weights,
        seconds=seconds,
        processes=processes,
        rounds=rounds,
        progress=progress,
    )
    tell(result, as_json)


@click.command()
@click.option("--rate", default=500, show_default=True, type=COUNT, help="Calls a second of each of the two targets.")
@click.option("--down", default=30, show_default=True, type=click.IntRange(3), help="Seconds of one answering 503.")
@click.option("--after", default=10, show_default=True, type=COUNT, help="Seconds of calls after that.")
@runs_workers()
@repeats
@measures
def outage(
    rate: int, down: int, after: int, processes: int, rounds: int, database_url: str | None, as_json: bool
) -> None:
    """Call a target that is down for a while, beside one that is well; tell who was called how often, and when."""
    from pgsched.bench.outage import run_outage

    result = run_outage(
        database_url, rate=rate, down=down, after=after, processes=processes, rounds=rounds, progress=progress
    )
    tell(result, as_json)


@click.command()
@click.option("--keys", default=10_000, show_default=True, type=COUNT, help="How many ordering keys.")
@click.option("--executions", default=20, show_default=True, type=COUNT, help="How many executions of each.")
@click.option(
    "--failures", default=0.1, show_default=True, type=click.FloatRange(0, 0.9), help="Which share of attempts fails."
)
@runs_workers(3)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output, nothing else.")
def orderly(keys: int, executions: int, failures: float, processes: int, as_json: bool) -> None:
    """Fail attempts and kill workers, and prove that each ordering key was delivered in order."""
    from pgsched.bench.orderly import run_orderly

    result = run_orderly(keys=keys, executions=executions, failures=failures, processes=processes, progress=progress)
    tell(result, as_json)
