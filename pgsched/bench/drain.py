"""`pgsched bench drain`: measures how fast a backlog of due executions is delivered to no-op handlers and settled."""

import os
import statistics
import time
from typing import Any

import psycopg

from pgsched.bench.bare_loop import run_bare
from pgsched.bench.database import loading
from pgsched.bench.medians import medians
from pgsched.bench.seed_rows import DUE, TRACED, WAITING, Progress, load
from pgsched.bench.server_cpu import ServerCpu
from pgsched.bench.worker_report import WorkerReport
from pgsched.bench.workers import benchmark_workers
from pgsched.settings import Settings

_FINISHED = """
select count(*), count(distinct id) filter (where status = 'succeeded') from pgsched.history"""
_DUE_LEFT = "select count(*) from pgsched.executions where fire_at <= now()"


def settings_of(url: str) -> Settings:
    """Returns the settings of the workers that drain the backlog."""
    return Settings(database_url=url, concurrency=2000, batch=500, allow_private_targets=True, lease=60.0)


def run_drain(
    url: str | None,
    *,
    count: int,
    processes: int,
    waiting: int = 0,
    keep: str = "all",
    bare: bool = True,
    rounds: int = 1,
    seed: int = 1,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Schedules ``count`` due executions, drains them, and checks by id that each ran once. Also schedules ``waiting``
    executions for the far future."""
    with loading(url, seed) as (own, connection):
        keep_of_client(connection, keep)
        load(connection, WAITING, waiting, progress)
        settings = settings_of(own)
        measured = [
            (_bare(connection, own, count, processes, keep, progress) if bare else {})
            | measure_drain(connection, settings, count=count, processes=processes, keep=keep, progress=progress)
            for _ in range(rounds)
        ]
    result = {"count": count, "processes": processes, "waiting": waiting, "keep": keep}
    return result | medians(measured) | ({"ratio": _ratio(measured)} if bare else {})


def keep_of_client(connection: psycopg.Connection[Any], keep: str) -> None:
    """Sets how much history the default client keeps: ``all`` or ``nothing``."""
    connection.execute("update pgsched.clients set keep = %s where client_id = 'default'", [keep])


def measure_drain(
    connection: psycopg.Connection[Any],
    settings: Settings,
    *,
    count: int,
    processes: int,
    keep: str = "all",
    tidy: bool = True,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Schedules a backlog and drains it. With ``tidy``, vacuums the table in between. Raises AssertionError if an
    execution is missing or duplicated.
    """
    cpu = ServerCpu(connection)
    with benchmark_workers(settings, processes=processes) as workers:
        wal = wal_bytes(connection)
        loaded = load(connection, DUE if keep == "all" else TRACED, count, progress, tidy=tidy)
        before, started = cpu.seconds(), time.monotonic()
        workers.go.set()
        workers.await_settled(count, within=600)
        server, roles = _since(cpu.seconds(), before), cpu.of_roles()
        reports = workers.finish()
        if keep == "all":
            assert_history(connection, count, reports)
        else:
            _assert_none_left(connection, count, reports)
            workers.account(count)
    seconds = max(report.last for report in reports) - started
    progress(f"drained: {round(count / seconds)}/s")
    written = wal_bytes(connection) - wal
    connection.execute("truncate pgsched.history")
    return {
        "rate": round(count / seconds),
        "load_rate": round(count / loaded),
        "wal_bytes_per_execution": round(written / count),
        "statements_per_execution": round((sum(report.statements for report in reports) + 1) / count, 4),
    } | _cpu(count, seconds, sum(report.cpu_seconds for report in reports), server, roles)


def _cpu(
    count: int, seconds: float, workers: float, server: float | None, roles: dict[str, float | None]
) -> dict[str, Any]:
    """Returns the CPU time per execution of each kind of process, in microseconds, and the number of busy cores."""
    busy = None if server is None else round((workers + server) / seconds, 2)
    spent = {"worker": workers, "server": server} | {f"server_{role}": value for role, value in roles.items()}
    return {
        f"{name}_cpu_us_per_execution": None if value is None else round(value / count * 1e6, 1)
        for name, value in spent.items()
    } | {"cores_busy": busy, "cores": os.cpu_count()}


def wal_bytes(connection: psycopg.Connection[Any]) -> int:
    """Returns the number of bytes of write-ahead log that the server has written since its creation."""
    row = connection.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    return int(row[0]) if row else 0


def assert_history(connection: psycopg.Connection[Any], count: int, reports: list[WorkerReport]) -> None:
    """Checks by id that each execution was delivered once and is in history once, and that no execution is due."""
    row = connection.execute(_FINISHED.encode()).fetchone()
    _assert_none_left(connection, count, reports)
    if row != (count, count):
        raise AssertionError(f"rows in history and distinct ids that succeeded: {row}; scheduled {count}")


def _assert_none_left(connection: psycopg.Connection[Any], count: int, reports: list[WorkerReport]) -> None:
    left = connection.execute(_DUE_LEFT.encode()).fetchone()
    delivered = sum(report.delivered for report in reports)
    if left != (0,) or delivered != count:
        raise AssertionError(f"left {left}, delivered {delivered} of {count}")


def _bare(
    connection: psycopg.Connection[Any], url: str, count: int, processes: int, keep: str, progress: Progress
) -> dict[str, Any]:
    load(connection, DUE, count, progress)
    rate, claimed = run_bare(url, processes=processes, keep=keep)
    progress(f"bare loop: {round(rate)}/s")
    left = connection.execute(_DUE_LEFT.encode()).fetchone()
    kept = connection.execute(_FINISHED.encode()).fetchone()
    expected = (count, count) if keep == "all" else (0, 0)
    if left != (0,) or claimed != count or kept != expected:
        raise AssertionError(f"the bare loop left {left}, claimed {claimed}, kept {kept} of {count}")
    connection.execute("truncate pgsched.history")
    return {"bare_rate": round(rate)}


def _since(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else now - before


def _ratio(measured: list[dict[str, Any]]) -> float:
    ratios: list[float] = [one["rate"] / one["bare_rate"] for one in measured]
    return round(statistics.median(ratios), 2)
