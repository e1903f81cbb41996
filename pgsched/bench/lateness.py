"""`pgsched bench lateness`: how long after its instant each execution starts, at a steady rate of distinct instants."""

import time
from typing import Any

import psycopg

from pgsched.bench.crew import crew
from pgsched.bench.drain import _WAIT, Progress, _load
from pgsched.bench.ground import ground
from pgsched.settings import Settings

_SCHEDULE = """
insert into pgsched.executions (target, payload, fire_at)
select 'python:stamp', to_jsonb(extract(epoch from t.at)::float8), t.at
  from generate_series(0, %(count)s - 1) as n,
       lateral (select clock_timestamp() + interval '3 seconds' + n * interval '1 second' / %(rate)s) as t(at)"""


def run_lateness(
    url: str | None,
    *,
    rate: int,
    seconds: int,
    processes: int = 2,
    waiting: int = 0,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Start minus fire_at, in milliseconds of the server's clock, over rate x seconds executions."""
    count = rate * seconds
    with ground(url) as own:
        settings = Settings(database_url=own, concurrency=1000)
        with psycopg.connect(own, autocommit=True) as connection:
            connection.execute("set pgsched.notify = off")
            _load(connection, _WAIT, waiting, progress)
            with crew(settings, processes=processes, measure_lateness=True) as workers:
                workers.go.set()
                time.sleep(1)
                base = connection.execute("select clock_timestamp()").fetchone()
                connection.execute(_SCHEDULE.replace("clock_timestamp()", "%(base)s::timestamptz").encode(),
                                   {"count": count, "rate": rate, "base": base[0] if base else None})  # fmt: skip
                deadline = time.monotonic() + seconds + 60
                while workers.settled() < count and time.monotonic() < deadline:
                    time.sleep(0.05)
                reports = workers.finish()
            late = sorted(value for report in reports for value in report.lateness_ms)
            row = connection.execute("select count(distinct id) from pgsched.history").fetchone()
            if len(late) != count or row != (count,):
                raise AssertionError(f"{len(late)} started and {row} kept of {count}")
    return {
        "rate": rate,
        "seconds": seconds,
        "processes": processes,
        "waiting": waiting,
        "count": count,
        "p50_ms": round(late[count // 2], 2),
        "p99_ms": round(late[min(count - 1, count * 99 // 100)], 2),
        "max_ms": round(late[-1], 2),
        "min_ms": round(late[0], 2),
    }
