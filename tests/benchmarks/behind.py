"""Measures how soon workers find due rows that were not announced and lie in a range that claims no longer read.

Repeatedly inserts one row per partition without a notification, 35 s overdue, and waits for it. Meanwhile other clients
are over a limit, on hold, have high-priority rows, or have more than their share due, and busy processes may slow the
machine.
"""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import click
import psycopg

from pgsched.bench.database import fresh_database
from pgsched.bench.seed_rows import Progress
from pgsched.bench.workers import benchmark_workers
from pgsched.cli.bench import COUNT, NONE_OR_MORE, on_server, progress, tell, worker_processes
from pgsched.settings import Settings

_BACKLOG = """
insert into pgsched.executions (client_id, target, options, fire_at)
select %s, 'python:noop', %s, now() - interval '1 minute' + n * interval '1 microsecond'
  from generate_series(1, %s) n"""
_SILENT = """
insert into pgsched.executions (client_id, target, fire_at, partition)
select 'late', 'python:noop', now() - interval '35 seconds', n from generate_series(0, 15) n"""
_FOUND = "select count(*) from pgsched.history where client_id = 'late'"
_CLIENTS = "insert into pgsched.clients (client_id) values ('late'), ('limited'), ('held'), ('urgent'), ('greedy')"
_LIMIT = "insert into pgsched_internal.gates (name, events, period) values ('client:limited', 1, interval '1 second')"
_HOLD = "select pgsched.pause('client', 'held')"
_LONGEST = 120.0
BESIDE = ("nobody", "limited", "held", "urgent", "greedy")


def run_behind(
    url: str | None, *, beside: str, due: int, spinning: int, repeats: int, processes: int, progress: Progress
) -> dict[str, Any]:
    """Returns the median and the longest time, in seconds, until all of the rows have ended."""
    clients = [name for name in BESIDE[1:] if beside in (name, "all")]
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        connection.execute("set pgsched.notify = off")
        connection.execute(_CLIENTS)
        connection.execute(_LIMIT)
        connection.execute(_HOLD)
        for client in clients:
            options = '{"priority": 5}' if client == "urgent" else "{}"
            connection.execute(_BACKLOG.encode(), [client, options, due])
        with (
            _spinning(spinning),
            benchmark_workers(Settings(database_url=own, poll_interval=1.0), processes=processes) as workers,
        ):
            workers.go.set()
            _seconds_until_found(connection)  # now the workers have joined and know which clients are held back
            found = []
            for _ in range(repeats):
                found.append(_seconds_until_found(connection))
                progress(f"{found[-1]:.2f} s")
            workers.finish()
    asked = {"beside": beside, "due": due, "spinning": spinning, "processes": processes}
    return asked | {"median_seconds": round(median(found), 2), "longest_seconds": round(max(found), 2)}


def _seconds_until_found(connection: psycopg.Connection[Any]) -> float:
    [before] = connection.execute(_FOUND).fetchone() or (0,)
    started = time.monotonic()
    connection.execute(_SILENT)
    while connection.execute(_FOUND).fetchone() != (before + 16,):
        if time.monotonic() - started > _LONGEST:
            raise AssertionError(f"not found within {_LONGEST} s")
        time.sleep(0.01)
    return time.monotonic() - started


def _spin() -> None:
    while True:
        pass


@contextmanager
def _spinning(count: int) -> Iterator[None]:
    processes = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


@click.command()
@click.option(
    "--beside", default="all", show_default=True, type=click.Choice([*BESIDE, "all"]), help="The other clients."
)
@click.option("--due", default=1_500, show_default=True, type=COUNT, help="Due executions of each other client.")
@click.option("--spinning", default=0, show_default=True, type=NONE_OR_MORE, help="Number of busy-looping processes.")
@click.option("--repeats", default=10, show_default=True, type=COUNT, help="Number of measurements.")
@worker_processes(1)
@on_server
def behind(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Report how soon unannounced rows are found, beside clients whose rows are skipped."""
    tell(run_behind(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    behind()
