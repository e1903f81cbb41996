"""Measures how late a client's executions start while another client, or thousands of others, flood the workers.

Each flood hits an installation with two worker processes and an API, in which the first client schedules fifty
executions a second in every possible way. It is judged like the attacks of ``tests.adversary``, which run the same
floods as far as the suite has time.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click

from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import progress, tell
from tests.adversary.attack import Attack, Means
from tests.adversary.attacks import floods as of_suite
from tests.adversary.house import House, house
from tests.adversary.server import attacked
from tests.adversary.turns import Turns
from tests.adversary.verdict import Figures, alone, attempt, bound_of

FLOODS: dict[str, Callable[[Means], None]] = {
    "jobs": partial(of_suite.jobs_for_each_second, count=4_000),
    "counted_jobs": partial(of_suite.jobs_for_each_second, count=2_000, rules='{"max_runs": 100000}'),
    "windowed_jobs": partial(of_suite.jobs_for_each_second, count=2_000, rules='{"window": "1s"}'),
    "chained_jobs": partial(of_suite.jobs_for_each_second, count=2_000, rules='{"after_completion": true}'),
    "clients": partial(of_suite.clients_with_rows, clients=5_000, each=10),
    "hosts": partial(of_suite.hosts_that_refuse, count=10_000),
    "rows": partial(of_suite.rows_that_are_due, count=200_000),
    "ordering_keys": partial(of_suite.rows_under_ordering_keys, count=60_000, keys=20_000),
}


def run_floods(
    *, names: tuple[str, ...], seconds: float, rounds: int, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Returns the first client's p99 alone and under each flood, with the suite's limit for that flood, in
    milliseconds."""
    with (
        tempfile.TemporaryDirectory(prefix="pgsched-floods-") as made,
        attacked(Path(made) / "postgres") as running,
        house(running.url, Path(made), Turns(Path(made))) as built,
    ):
        usual = alone(built)
        told: dict[str, Any] = {"rounds": rounds, "alone_p99_ms": _ms(usual.late)}
        progress(f"alone: p99 {_ms(usual.late)} ms")
        for name in names or tuple(FLOODS):
            told |= _flood(built, name, usual, seconds, rounds, progress)
        return told


def _flood(built: House, name: str, usual: Figures, seconds: float, rounds: int, progress: Progress) -> dict[str, Any]:
    found: list[Figures] = []
    flood = Attack(name, FLOODS[name], seconds, after_mount=False, recovers_within=None)
    for _ in range(rounds):
        verdict = attempt(built, flood, usual)
        built.clear()
        for problem in [*verdict.broken, *verdict.refusals]:
            progress(f"{name}: {problem}")
        assert verdict.under_attack is not None
        found.append(verdict.under_attack)
        progress(f"{name}: {verdict.figures[0]}")
    return {
        f"{name}_p99_ms": _ms(median(one.late for one in found)),
        f"{name}_worst_p99_ms": _ms(max(one.late for one in found)),
        f"{name}_bound_ms": _ms(median(bound_of(one, usual) for one in found)),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


@click.command()
@click.option(
    "--flood", "names", multiple=True, type=click.Choice(list(FLOODS)), help="Floods to run; by default, all."
)
@click.option(
    "--seconds", default=6.0, show_default=True, type=click.FloatRange(1), help="Seconds to measure each flood."
)
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(1), help="Number of rounds; the median is reported."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def floods(as_json: bool, **asked: Any) -> None:
    """Report how late a client's executions start while others flood the workers."""
    tell(run_floods(**asked, progress=progress), as_json)


if __name__ == "__main__":
    floods()
