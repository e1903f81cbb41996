"""Workers are killed and frozen, listeners cut off, the server restarted, and nothing is lost.

Three worker processes drain a backlog while a job fires every second. Every three seconds one of them is killed with
SIGKILL and started again; once it is frozen with SIGSTOP past its lease instead, and goes on later; the listeners'
backends are terminated twice; PostgreSQL is restarted once. Every delivery leaves its execution's id in a file, so that
what was delivered is known by identity whoever died. At the end everything must have been delivered, nothing settled
twice, nothing be left leased, and the job must have every second once.
"""

import asyncio
import logging
import os
import signal
import tempfile
import time
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import psycopg

from pgsched.bench.load import Progress
from pgsched.cli.bench import JSON, progress, tell
from pgsched.delivery.handlers import Context
from pgsched.delivery.python import App
from pgsched.embedded import EmbeddedPostgres
from pgsched.process import run_worker
from pgsched.settings import Settings
from pgsched.store.admin.migrate import migrate
from tests.benchmarks.measuring.respawned import Respawned

_EACH_SECOND = """
select pgsched.schedule('python:trace', every => '1 second', key => 'tick',
                        rules => '{"on_missed": "all", "on_overlap": "allow"}')"""
_LEASE = 6.0


def _app(directory: str, seconds: float) -> App:
    app = App()
    trace = os.open(f"{directory}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @app.handler("trace")
    async def deliver(payload: object, context: Context) -> None:
        os.write(trace, UUID(context.execution_id).bytes)
        await asyncio.sleep(seconds)

    return app


def _work(directory: str, seconds: float, url: str) -> None:
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # broken connections are what this is about
    settings = Settings(database_url=url, lease=_LEASE, concurrency=200, drain_timeout=10)
    run_worker(settings, app=_app(directory, seconds))


def run_chaos(
    *, count: int, processes: int = 3, seconds: int = 60, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Runs it on an embedded server of its own; raises AssertionError when anything was lost, doubled or left."""
    with tempfile.TemporaryDirectory(prefix="pgsched-chaos-") as directory:
        trace = Path(directory) / "trace"
        trace.mkdir()
        with EmbeddedPostgres(Path(directory) / "postgres") as server:
            migrate(server.url)
            pause = processes * 200 * seconds * 0.6 / count
            workers = Respawned(server.url, partial(_work, str(trace), pause))
            workers.start(processes)
            try:
                result = _ordeal(server, workers, count, seconds, progress)
            finally:
                workers.stop()
            return result | _account(server.url, trace, count, result.pop("job"), progress) | {"kills": workers.kills}


def _ordeal(
    server: EmbeddedPostgres, workers: Respawned, count: int, seconds: int, progress: Progress
) -> dict[str, Any]:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            "insert into pgsched.executions (target, payload, fire_at) "
            "select 'python:trace', '{}', now() from generate_series(1, %s)",
            [count],
        )
        job = _value(connection, _EACH_SECOND)
    started, recoveries, frozen = time.monotonic(), list[float](), 0.0
    turn = 0
    while (passed := time.monotonic() - started) < seconds:
        turn += 1
        third = seconds / 3
        if third <= passed < third + 3:
            progress("restarting PostgreSQL")
            server.restart()
        elif 2 * third <= passed < 2 * third + 3:
            frozen = _freeze(server.url, workers, turn % len(workers.processes), progress)
        else:
            recoveries.append(_kill(server.url, workers, turn % len(workers.processes)))
            progress(f"{passed:5.1f} s: killed one, its rows were back after {recoveries[-1]:.2f} s")
        if turn in (2, 6):
            progress(f"cut off {_cut_listeners(server.url)} listeners")
        time.sleep(max(0.0, 3 - (time.monotonic() - started - passed)))
    _await_empty(server.url, job, progress)
    return {
        "count": count,
        "recovery_max_s": round(max(recoveries), 2),
        "frozen_recovery_s": round(frozen, 2),
        "job": job,
    }


def _kill(url: str, workers: Respawned, place: int) -> float:
    """Seconds until nothing is leased to the killed worker any more."""
    pid = workers.kill(place)
    return _until_free(url, pid)


def _freeze(url: str, workers: Respawned, place: int, progress: Progress) -> float:
    """Freezes a worker until its rows are with others, then lets it go on and report its late results."""
    pid = workers.living(place).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        seconds = _until_free(url, pid)
    finally:
        os.kill(pid, signal.SIGCONT)
    progress(f"froze one, its rows were back after {seconds:.2f} s (lease {_LEASE:g} s)")
    return seconds


def _until_free(url: str, pid: int) -> float:
    started = time.monotonic()
    query = """select count(*) from pgsched.executions e join pgsched.workers w on w.id = e.lease_owner
                where e.fire_at < now() + interval '1 minute' and w.name like %s"""
    with psycopg.connect(url, autocommit=True) as connection:
        while _value(connection, query, [f"%:{pid}"]) and time.monotonic() - started < 30:
            time.sleep(0.05)
    return time.monotonic() - started


def _cut_listeners(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        query = """select count(pg_terminate_backend(pid)) from pg_stat_activity
                    where application_name like 'pgsched listen %%'"""
        return int(_value(connection, query))


def _await_empty(url: str, job: UUID, progress: Progress) -> None:
    progress("waiting for the rest")
    deadline = time.monotonic() + 120
    with psycopg.connect(url, autocommit=True) as connection:
        while _value(connection, "select count(*) from pgsched.executions where job_id is null"):
            if time.monotonic() > deadline:
                raise AssertionError("executions are left after two minutes")
            time.sleep(0.2)
        connection.execute("select pgsched.cancel(%s::uuid)", [job])
        while _value(connection, "select count(*) from pgsched.executions"):
            if time.monotonic() > deadline:
                raise AssertionError("rows of the job are left")
            time.sleep(0.1)


def _account(url: str, trace: Path, count: int, job: UUID, progress: Progress) -> dict[str, Any]:
    delivered = [
        data[i : i + 16] for file in trace.iterdir() for data in [file.read_bytes()] for i in range(0, len(data), 16)
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        kept = connection.execute("select id, status::text from pgsched.history where job_id is null").fetchall()
        ticks = connection.execute(
            "select scheduled_for from pgsched.history where job_id = %s and status = 'succeeded' order by 1",
            [job],
        ).fetchall()
        leased = _value(connection, "select count(*) from pgsched.executions where lease_token is not null")
    ids = {row[0].bytes for row in kept if row[1] == "succeeded"}
    problems = {
        "settled twice": len(kept) - len({row[0] for row in kept}),
        "not succeeded": count - len(ids),
        "never delivered": len(ids - set(delivered)),
        "left leased": leased,
        "instants missing or doubled": sum(
            after[0] - before[0] != timedelta(seconds=1) for before, after in pairwise(ticks)
        ),
    }
    progress(f"account: {problems}")
    if any(problems.values()):
        raise AssertionError(str(problems))
    return {
        "delivered_twice": len(delivered) - len(set(delivered)),
        "instants": len(ticks),
        "lost": 0,
        "settled_twice": 0,
    }


def _value(connection: psycopg.Connection[Any], query: str, parameters: list[Any] | None = None) -> Any:
    row = connection.execute(query.encode(), parameters).fetchone()
    return row[0] if row else None


@click.command()
@click.option(
    "--count", default=100_000, show_default=True, type=click.IntRange(1000), help="How many executions to drain."
)
@click.option(
    "--processes", default=3, show_default=True, type=click.IntRange(2, 64), help="How many worker processes."
)
@click.option(
    "--seconds", default=60, show_default=True, type=click.IntRange(15), help="For how long workers are killed."
)
@JSON
def chaos(as_json: bool, **asked: Any) -> None:
    """Kill and freeze workers, cut listeners off, restart the server, and prove that nothing was lost.

    Always on an embedded server of its own.
    """
    tell(run_chaos(progress=progress, **asked), as_json)


if __name__ == "__main__":
    chaos()
