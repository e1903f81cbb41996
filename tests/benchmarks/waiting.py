"""Measures how many rows scheduled for later affect the few that are due now.

Lateness and drain are measured on an empty table; then rows are scheduled over a year, and both are measured again.
"""

import time
from functools import partial
from typing import Any

import click
import psycopg

from pgsched.bench.database import loading
from pgsched.bench.drain import measure_drain, settings_of
from pgsched.bench.lateness import measure_lateness, settings_on_time
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import WAITING, Progress, load
from pgsched.cli.bench import COUNT, ROUNDS, SEED, on_server, progress, tell, worker_processes
from tests.benchmarks.measuring.sizes import live_table

_STILL_WAITING = "select count(*), count(distinct id) from pgsched.executions where fire_at > now() + interval '1 hour'"


def run_waiting(
    url: str | None,
    *,
    waiting: int,
    rate: int,
    seconds: int,
    backlog: int,
    processes: int = 2,
    lead: float = 3.0,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns both measures on the ``empty`` and the ``full`` table, their ratios, and the bytes per waiting row.

    Raises AssertionError if a waiting row is gone, or a due one is lost or repeated.
    """
    with loading(url, seed) as (own, connection):
        common: dict[str, Any] = {"rate": rate, "seconds": seconds, "backlog": backlog, "processes": processes}
        measure = partial(_measure, connection, own, **common, lead=lead, seed=seed, progress=progress)
        empty = [measure() for _ in range(rounds)]
        stored = _fill(connection, waiting, progress)
        full = [measure() for _ in range(rounds)]
        _assert_waiting(connection, waiting)
    return {"waiting": waiting} | common | stored | _compared(medians(empty), medians(full))


def _measure(
    connection: psycopg.Connection[Any],
    url: str,
    *,
    rate: int,
    seconds: int,
    backlog: int,
    processes: int,
    lead: float,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    late = measure_lateness(
        connection,
        settings_on_time(url),
        rate=rate,
        seconds=seconds,
        processes=processes,
        feed=True,
        lead=lead,
        seed=seed,
        progress=progress,
    )
    drained = measure_drain(connection, settings_of(url), count=backlog, processes=processes, progress=progress)
    told = ("p50_ms", "p99_ms", "p999_ms", "max_ms", "claim_p99_ms", "achieved_rate", "scheduled_in_time")
    return {name: late[name] for name in told} | {
        "drain_rate": drained["rate"],
        "server_cpu_us_per_execution": drained["server_cpu_us_per_execution"],
    }


def _fill(connection: psycopg.Connection[Any], waiting: int, progress: Progress) -> dict[str, Any]:
    connection.execute("truncate pgsched.executions")  # empty, except for the space that earlier rows used
    started = time.monotonic()
    load(connection, WAITING, waiting, progress, tidy=False)
    seconds = time.monotonic() - started
    progress("vacuuming")
    connection.execute("vacuum (analyze) pgsched.executions")
    sizes = live_table(connection)
    return {
        "load_rate": round(waiting / seconds),
        "heap_bytes_per_row": round(sizes["heap_bytes"] / waiting, 1),
        "index_bytes_per_row": round(sizes["index_bytes"] / waiting, 1),
    }


def _assert_waiting(connection: psycopg.Connection[Any], waiting: int) -> None:
    row = connection.execute(_STILL_WAITING.encode()).fetchone()
    if row != (waiting, waiting):
        raise AssertionError(f"{row} of {waiting} rows still wait")


def _compared(empty: dict[str, Any], full: dict[str, Any]) -> dict[str, Any]:
    told = {f"empty_{name}": value for name, value in empty.items()}
    told |= {f"full_{name}": value for name, value in full.items()}
    ratios = {name: _ratio(full[name], empty[name]) for name in ("p50_ms", "p99_ms", "drain_rate")}
    return told | {f"{name.removesuffix('_ms')}_ratio": value for name, value in ratios.items()}


def _ratio(above: float | None, below: float | None) -> float | None:
    return round(above / below, 3) if above is not None and below else None


@click.command()
@click.option(
    "--waiting", default=20_000_000, show_default=True, type=COUNT, help="Number of rows that wait, spread over a year."
)
@click.option("--rate", default=1000, show_default=True, type=COUNT, help="Executions per second to measure lateness.")
@click.option("--seconds", default=30, show_default=True, type=COUNT, help="Seconds at the rate.")
@click.option("--backlog", default=100_000, show_default=True, type=COUNT, help="Executions per drain.")
@worker_processes()
@SEED
@ROUNDS
@on_server
def waiting(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Measure lateness and drain on an empty table and beside many waiting rows, and report the bytes per row."""
    tell(run_waiting(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    waiting()
