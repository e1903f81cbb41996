"""`pgsched bench drain`: how fast a backlog of due executions is delivered to no-op handlers and settled."""

import statistics
import time
from typing import Any

import psycopg

from pgsched.bench.bare import run_bare
from pgsched.bench.crew import Report, crew
from pgsched.bench.ground import ground
from pgsched.bench.load import DUE, WAITING, Progress, load, medians
from pgsched.settings import Settings


def run_drain(
    url: str | None,
    *,
    count: int,
    processes: int,
    waiting: int = 0,
    bare: bool = True,
    rounds: int = 1,
    concurrency: int = 2000,
    batch: int = 500,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Schedules count due executions (and waiting ones in the far future), drains them, accounts for each by id."""
    with ground(url) as own:
        settings = Settings(
            database_url=own, concurrency=concurrency, batch=batch, allow_private_targets=True, lease=60.0
        )
        result: dict[str, Any] = {"count": count, "processes": processes, "waiting": waiting}
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("set pgsched.notify = off")
            load(connection, WAITING, waiting, progress)
            measured = [
                (_bare(connection, own, count, processes, progress) if bare else {})
                | _measure(connection, settings, count, waiting, processes, progress)
                for _ in range(rounds)
            ]
        return result | medians(measured) | ({"ratio": _ratio(measured)} if bare else {})


def _bare(
    connection: psycopg.Connection[Any], url: str, count: int, processes: int, progress: Progress
) -> dict[str, Any]:
    load(connection, DUE, count, progress)
    rate = round(run_bare(url, processes=processes))
    progress(f"bare loop: {rate}/s")
    connection.execute("truncate pgsched.history")
    return {"bare_rate": rate}


def _ratio(measured: list[dict[str, Any]]) -> float:
    ratios: list[float] = [one["rate"] / one["bare_rate"] for one in measured]
    return round(statistics.median(ratios), 2)


def _measure(
    connection: psycopg.Connection[Any],
    settings: Settings,
    count: int,
    waiting: int,
    processes: int,
    progress: Progress,
) -> dict[str, Any]:
    with crew(settings, processes=processes) as workers:
        wal = _wal(connection)
        loaded = load(connection, DUE, count, progress)
        started = time.monotonic()
        workers.go.set()
        deadline = started + 600
        while workers.settled() < count and time.monotonic() < deadline:
            time.sleep(0.02)
        reports = workers.finish()
    seconds = max(report.last for report in reports) - started
    _assert_all(connection, count, waiting, reports)
    progress(f"drained: {round(count / seconds)}/s")
    wal_bytes = _wal(connection) - wal
    connection.execute("truncate pgsched.history")
    return {
        "rate": round(count / seconds),
        "load_rate": round(count / loaded),
        "wal_bytes_per_execution": round(wal_bytes / count),
        "statements_per_execution": round((sum(report.statements for report in reports) + 1) / count, 4),
        "worker_cpu_us_per_execution": round(sum(report.cpu_seconds for report in reports) / count * 1e6, 1),
    }


def _wal(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    return int(row[0]) if row else 0


def _assert_all(connection: psycopg.Connection[Any], count: int, waiting: int, reports: list[Report]) -> None:
    query = """select (select count(*) from pgsched.executions), (select count(*) from pgsched.history),
                      (select count(distinct id) from pgsched.history where status = 'succeeded')"""
    row = connection.execute(query).fetchone()
    delivered = sum(report.delivered for report in reports)
    if row != (waiting, count, count) or delivered != count:
        raise AssertionError(
            f"left, kept, distinct = {row}, delivered = {delivered}; scheduled {count}, waiting {waiting}"
        )
