"""`pgsched bench drain`: how fast a backlog of due executions is delivered to no-op handlers and settled."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

from pgsched.bench.bare import run_bare
from pgsched.bench.crew import Report, crew
from pgsched.bench.ground import ground
from pgsched.settings import Settings

_LOAD = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:noop', '{"order": 42, "merchant": "abcdefghij"}',
       now() - interval '1 hour' + n * interval '1 millisecond'
  from generate_series(1, %s) as n"""
_WAIT = """
insert into pgsched.executions (target, payload, fire_at)
select 'https://shop.example/callback', '{"order": 42, "merchant": "abcdefghij"}',
       now() + interval '1 day' + random() * interval '364 days'
  from generate_series(1, %s)"""
Progress = Callable[[str], None]


def run_drain(
    url: str | None,
    *,
    count: int,
    processes: int,
    waiting: int = 0,
    bare: bool = True,
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
            _load(connection, _WAIT, waiting, progress)
            if bare:
                _load(connection, _LOAD, count, progress)
                result["bare_rate"] = round(run_bare(own, processes=processes))
                progress(f"bare loop: {result['bare_rate']}/s")
                connection.execute("truncate pgsched.history")
                connection.execute("vacuum pgsched.executions")
            result |= _measure(connection, settings, count, waiting, processes, progress)
        if bare:
            result["ratio"] = round(result["rate"] / result["bare_rate"], 2)
        return result


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
        loaded = _load(connection, _LOAD, count, progress)
        started = time.monotonic()
        workers.go.set()
        deadline = started + 600
        while workers.settled() < count and time.monotonic() < deadline:
            time.sleep(0.02)
        reports = workers.finish()
    seconds = max(report.last for report in reports) - started
    _assert_all(connection, count, waiting, reports)
    return {
        "rate": round(count / seconds),
        "load_rate": round(count / loaded),
        "wal_bytes_per_execution": round((_wal(connection) - wal) / count),
        "statements_per_execution": round((sum(report.statements for report in reports) + 1) / count, 4),
        "worker_cpu_us_per_execution": round(sum(report.cpu_seconds for report in reports) / count * 1e6, 1),
    }


def _load(connection: psycopg.Connection[Any], query: str, count: int, progress: Progress) -> float:
    if not count:
        return 1.0
    progress(f"scheduling {count} executions")
    started = time.monotonic()
    for first in range(0, count, 1_000_000):
        connection.execute(query.encode(), [min(1_000_000, count - first)])
    seconds = time.monotonic() - started
    connection.execute("vacuum (analyze) pgsched.executions")
    return seconds


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
