"""`pgsched bench lateness`: measures how late executions start when they are due at a steady rate."""

from functools import partial
from typing import Any

import psycopg

from pgsched.bench.database import loading
from pgsched.bench.drain import assert_history
from pgsched.bench.feed import schedule_evenly
from pgsched.bench.histogram import ByMinute
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import WAITING, Progress, load
from pgsched.bench.worker_report import together
from pgsched.bench.workers import benchmark_workers
from pgsched.settings import Settings

_LEAD = 3.0


def run_lateness(
    url: str | None,
    *,
    rate: int,
    seconds: int,
    processes: int = 2,
    waiting: int = 0,
    feed: bool = False,
    lead: float = _LEAD,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Measures how long after ``fire_at`` each of rate x seconds executions starts, by the server's clock.

    With ``feed``, schedules each execution during the run, ``lead`` seconds ahead; without it, all before the first is
    due.
    """
    with loading(url, seed) as (own, connection):
        load(connection, WAITING, waiting, progress)
        settings = settings_on_time(own)
        asked: dict[str, Any] = {"rate": rate, "seconds": seconds, "processes": processes, "feed": feed}
        measure = partial(measure_lateness, connection, settings, lead=lead, seed=seed, progress=progress, **asked)
        measured = [measure() for _ in range(rounds)]
    return asked | {"waiting": waiting} | medians(measured)


def settings_on_time(url: str) -> Settings:
    """Returns the settings of the workers whose lateness is measured."""
    return Settings(database_url=url, concurrency=1000, look_ahead=0.2)


def measure_lateness(
    connection: psycopg.Connection[Any],
    settings: Settings,
    *,
    rate: int,
    seconds: int,
    processes: int,
    feed: bool,
    lead: float = _LEAD,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Measures one run at this rate. Raises AssertionError if executions are missing or duplicated.

    ``scheduled_in_time`` is False if executions were scheduled too late for the workers to start them on time.
    """
    url, count = str(settings.database_url), rate * seconds
    with benchmark_workers(settings, processes=processes) as workers:
        workers.go.set()
        fed = schedule_evenly(url, rate=rate, seconds=seconds, ahead=not feed, lead=lead, seed=seed)
        workers.await_settled(count, within=lead + seconds + 120)
        reports = workers.finish()
    assert_history(connection, count, reports)
    late, claims = together(report.lateness for report in reports), together(report.claims for report in reports)
    if late.whole().count != count:
        raise AssertionError(f"only {late.whole().count} of {count} reported their lateness")
    connection.execute("truncate pgsched.history")
    told = late.whole().summary()
    progress(f"p50 {told['p50_ms']} ms, p99 {told['p99_ms']} ms, max {told['max_ms']} ms")
    achieved = round(count / (max(report.last for report in reports) - fed.first))
    in_time = {
        "scheduled_ahead_min_s": round(fed.slack, 3),
        "scheduled_in_time": fed.slack > settings.look_ahead,
    }
    return {"count": count, "achieved_rate": achieved} | told | _by_minute(late, claims) | in_time


def _by_minute(late: ByMinute, claims: ByMinute) -> dict[str, float | None]:
    return {
        "worst_minute_p99_ms": _rounded(late.worst_ms(99)),
        "claim_p50_ms": _rounded(claims.whole().percentile_ms(50)),
        "claim_p99_ms": _rounded(claims.whole().percentile_ms(99)),
        "worst_minute_claim_p99_ms": _rounded(claims.worst_ms(99)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
