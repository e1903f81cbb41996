"""`pgsched bench lateness`: how long after its instant each execution starts, at a steady rate of distinct instants."""

import time
from typing import Any

import psycopg

from pgsched.bench.crew import crew
from pgsched.bench.ground import ground
from pgsched.bench.load import WAITING, Progress, load, medians
from pgsched.settings import Settings

_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:stamp', to_jsonb(extract(epoch from t.at)::float8), t.at
  from generate_series(0, %(count)s - 1) as n,
       lateral (select now() + interval '3 seconds' + n * interval '1 second' / %(rate)s) as t(at)"""


def run_lateness(
    url: str | None,
    *,
    rate: int,
    seconds: int,
    processes: int = 2,
    waiting: int = 0,
    rounds: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Start minus fire_at, in milliseconds of the server's clock, over rate x seconds executions."""
    with ground(url) as own:
        settings = Settings(database_url=own, concurrency=1000)
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("set pgsched.notify = off")
            load(connection, WAITING, waiting, progress)
            measured = [_measure(connection, settings, rate, seconds, processes, progress) for _ in range(rounds)]
    return {"rate": rate, "seconds": seconds, "processes": processes, "waiting": waiting} | medians(measured)


def _measure(
    connection: psycopg.Connection[Any],
    settings: Settings,
    rate: int,
    seconds: int,
    processes: int,
    progress: Progress,
) -> dict[str, Any]:
    count = rate * seconds
    with crew(settings, processes=processes, measure_lateness=True) as workers:
        workers.go.set()
        time.sleep(1)
        connection.execute(_SCHEDULE.encode(), {"count": count, "rate": rate})
        deadline = time.monotonic() + seconds + 60
        while workers.settled() < count and time.monotonic() < deadline:
            time.sleep(0.05)
        reports = workers.finish()
    late = sorted(value for report in reports for value in report.lateness_ms)
    row = connection.execute("select count(distinct id) from pgsched.history").fetchone()
    if len(late) != count or row != (count,):
        raise AssertionError(f"{len(late)} started and {row} kept of {count}")
    connection.execute("truncate pgsched.history")
    progress(f"p99 {late[min(count - 1, count * 99 // 100)]:.2f} ms")
    return {
        "count": count,
        "p50_ms": round(late[count // 2], 2),
        "p99_ms": round(late[min(count - 1, count * 99 // 100)], 2),
        "max_ms": round(late[-1], 2),
        "min_ms": round(late[0], 2),
    }
