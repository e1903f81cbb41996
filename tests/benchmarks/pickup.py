"""Measures how soon an idle worker starts an execution scheduled for now.

The times at which COMMIT is sent and answered and at which the handler starts are read from the monotonic clock, which
all processes of a machine share. So the benchmark and its workers must run on one machine; the server may run anywhere.
The commit itself happens between the first two.
"""

import random
import time
from typing import Any, NamedTuple
from uuid import UUID

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell, worker_processes
from pgsched.settings import Settings
from tests.benchmarks.measuring.spread import spread
from tests.benchmarks.measuring.witnesses import NOW, account, await_empty, witnesses

_WARMING_UP = 20
_GAP = (0.020, 0.080)


def run_pickup(
    url: str | None,
    *,
    count: int,
    processes: int = 2,
    seed: int = 1,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the milliseconds from before COMMIT to the start of the handler, and from its answer (``answered_…``).
    Schedules one execution at a time, with random gaps."""
    rng = random.Random(seed)
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.prepare_threshold = 0
        settings = Settings(database_url=own)
        measured = [_measure(connection, settings, count, processes, rng, progress) for _ in range(rounds)]
    return {"count": count, "processes": processes, "seed": seed} | medians(measured)


def _measure(
    connection: psycopg.Connection[Any],
    settings: Settings,
    count: int,
    processes: int,
    rng: random.Random,
    progress: Progress,
) -> dict[str, Any]:
    with witnesses(settings, processes=processes) as workers:
        committed = [_schedule_one(connection, rng) for _ in range(_WARMING_UP + count)]
        await_empty(connection)
        seen = workers.finish()
    account(connection, [one.id for one in committed], seen.starts)
    measured = committed[_WARMING_UP:]
    figures = spread([seen.starts[one.id] - one.sent for one in measured], 0.5, 0.9, 0.99)
    answered = spread([seen.starts[one.id] - one.answered for one in measured], 0.5, 0.9, 0.99)
    progress(f"p50 {figures['p50_ms']:.2f} ms, p99 {figures['p99_ms']:.2f} ms")
    return figures | {f"answered_{name}": value for name, value in answered.items()}


class _Committed(NamedTuple):
    id: UUID
    sent: float
    answered: float


def _schedule_one(connection: psycopg.Connection[Any], rng: random.Random) -> _Committed:
    time.sleep(rng.uniform(*_GAP))
    connection.execute("begin")
    row = connection.execute(NOW).fetchone()
    sent = time.monotonic()
    connection.execute("commit")
    answered = time.monotonic()
    if row is None:
        raise AssertionError("pgsched.schedule returned nothing")
    return _Committed(row[0], sent, answered)


@click.command()
@click.option("--count", default=500, show_default=True, type=COUNT, help="Number of executions, one at a time.")
@click.option("--seed", default=1, show_default=True, type=int, help="Seed of the random gaps between them.")
@worker_processes()
@ROUNDS
@on_server
def pickup(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Report how soon after its commit an idle worker starts an execution scheduled for now."""
    tell(run_pickup(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    pickup()
