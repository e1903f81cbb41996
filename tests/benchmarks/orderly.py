"""Checks that executions with ordering keys arrive in order although handlers fail and workers are killed.

Every key has several executions, due in the order of their numbers. A share of the attempts fails and is retried, and
every few seconds a worker is killed and restarted. Each attempt is appended to one file as it begins, so the file is in
order of arrival. No attempt may come after one with a higher number of the same key.
"""

import asyncio
import os
import random
import struct
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import psycopg

from pgsched.bench.seed_rows import Progress
from pgsched.cli.bench import COUNT, JSON, progress, tell, worker_processes
from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Retry
from pgsched.embedded import EmbeddedPostgres
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from pgsched.worker_process import run_worker
from tests.benchmarks.measuring.respawned import Respawned

_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at, ordering_key, partition, options)
select 'python:step', jsonb_build_array(k, n), now() - interval '1 hour' + n * interval '1 second', 'key-' || k,
       pgsched.partition_for('default', 'default', null, 'key-' || k),
       '{"max_attempts": 1000, "backoff": {"initial": "10ms", "maximum": "200ms"}}'
  from generate_series(0, %s - 1) as k, generate_series(0, %s - 1) as n"""
_STEP = struct.Struct("!II")
_EVERY = 3.0
_LONGEST = 600


def _app(trace: str, failures: float) -> App:
    app = App()
    file = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @app.handler("step")
    async def step(payload: tuple[int, int]) -> None:
        os.write(file, _STEP.pack(*payload))
        await asyncio.sleep(0.001)
        if random.random() < failures:
            raise Retry("not this time")

    return app


def _work(trace: str, failures: float, url: str) -> None:
    run_worker(Settings(database_url=url, lease=6.0, drain_timeout=10), app=_app(trace, failures))


def run_orderly(
    *, keys: int, executions: int, failures: float, processes: int = 3, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Runs on a dedicated embedded server. Raises AssertionError if an execution came out of order or not at all."""
    with tempfile.TemporaryDirectory(prefix="pgsched-orderly-") as directory:
        trace = Path(directory) / "trace"
        with EmbeddedPostgres(Path(directory) / "postgres") as server:
            migrate(server.url)
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute(_SCHEDULE, [keys, executions])
                connection.execute("vacuum (analyze) pgsched.executions")
                workers = Respawned(server.url, partial(_work, str(trace), failures))
                started = time.monotonic()
                workers.start(processes)
                try:
                    _await_all(connection, workers, keys * executions, progress)
                finally:
                    workers.stop()
        seconds = time.monotonic() - started
        attempts = _assert_ordered(trace.read_bytes(), keys, executions)
    asked = {"keys": keys, "executions": executions, "failures": failures, "processes": processes}
    return asked | {"attempts": attempts, "kills": workers.kills, "seconds": round(seconds, 1), "out_of_order": 0}


def _await_all(connection: psycopg.Connection[Any], workers: Respawned, count: int, progress: Progress) -> None:
    deadline, turn, before = time.monotonic() + _LONGEST, 0, 0
    while (done := _succeeded(connection)) < count:
        if time.monotonic() > deadline:
            raise AssertionError(f"only {done} of {count} succeeded within {_LONGEST} s")
        if done > before:  # restarted workers are running again
            progress(f"{done} of {count}; killing a worker")
            workers.kill(turn % len(workers.processes))
            turn += 1
        before = done
        time.sleep(_EVERY)


def _succeeded(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select count(*) from pgsched.history where status = 'succeeded'").fetchone()
    return row[0] if row else 0


def _assert_ordered(trace: bytes, keys: int, executions: int) -> int:
    """Returns the number of attempts. Raises AssertionError if one came out of order."""
    latest = [-1] * keys
    for key, number in _STEP.iter_unpack(trace):
        if number < latest[key] or number > latest[key] + 1:
            raise AssertionError(f"number {number} of key {key} came after number {latest[key]}")
        latest[key] = number
    if behind := sum(number != executions - 1 for number in latest):
        raise AssertionError(f"{behind} keys were not delivered completely")
    return len(trace) // _STEP.size


@click.command()
@click.option("--keys", default=10_000, show_default=True, type=COUNT, help="Number of ordering keys.")
@click.option("--executions", default=20, show_default=True, type=COUNT, help="Executions per key.")
@click.option(
    "--failures", default=0.1, show_default=True, type=click.FloatRange(0, 0.9), help="Share of attempts that fail."
)
@worker_processes(3)
@JSON
def orderly(as_json: bool, **asked: Any) -> None:
    """Fail attempts and kill workers, and prove that each ordering key was delivered in order."""
    tell(run_orderly(progress=progress, **asked), as_json)


if __name__ == "__main__":
    orderly()
