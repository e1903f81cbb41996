"""Measures the statements that idle workers send to the database and the CPU time they use."""

import time
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.server_cpu import SECONDS_A_TICK, ticks
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, on_server, tell, worker_processes
from pgsched.settings import Settings
from tests.benchmarks.measuring.statements import PRELOADED, counts_statements, statements_sent

_SETTLING_IN, _JOINED_WITHIN = 6, 60


def run_idle(url: str | None, *, seconds: int, processes: int) -> dict[str, Any]:
    """Returns the statements a second of all workers together, including begin and commit, and each worker's
    milliseconds of CPU per second, after they have settled in.

    The server counts the statements. Raises AssertionError if it has not loaded pg_stat_statements.
    """
    with fresh_database(url, settings=PRELOADED) as own, psycopg.connect(own, autocommit=True) as watcher:
        if not counts_statements(watcher):
            raise AssertionError("the server does not count statements: load pg_stat_statements")
        with benchmark_workers(Settings(database_url=own), processes=processes) as workers:
            workers.go.set()
            _wait_until_joined(watcher, processes)
            time.sleep(_SETTLING_IN)
            before, started = statements_sent(watcher), time.monotonic()
            busy_before = sum(map(ticks, workers.pids))
            time.sleep(seconds)
            sent, passed = statements_sent(watcher) - before, time.monotonic() - started
            busy = (sum(map(ticks, workers.pids)) - busy_before) * SECONDS_A_TICK
            workers.finish()
    return {
        "seconds": seconds,
        "processes": processes,
        "statements_per_second": round(sent / passed, 2),
        "worker_cpu_ms_per_second": round(1000 * busy / passed / processes, 2),
    }


def _wait_until_joined(watcher: psycopg.Connection[Any], processes: int) -> None:
    """Waits until all have joined. On a busy machine, starting them may take longer than they need to settle in."""
    deadline = time.monotonic() + _JOINED_WITHIN
    while watcher.execute("select count(*) from pgsched.workers").fetchone() != (processes,):
        if time.monotonic() > deadline:
            raise AssertionError(f"{processes} workers did not join within {_JOINED_WITHIN} s")
        time.sleep(0.1)


@click.command()
@click.option("--seconds", default=20, show_default=True, type=COUNT, help="Seconds to measure.")
@worker_processes()
@on_server
def idle(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Count the statements that idle workers send, and the CPU time they use."""
    tell(run_idle(database_url, **asked), as_json)


if __name__ == "__main__":
    idle()
