"""One worker process of a benchmark: pgsched's own worker, with its handlers, its claims and its statements counted."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import psycopg
import uvloop

from pgsched.bench.report import Report, Trace
from pgsched.delivery.python import App
from pgsched.events import Events, logging_listener
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.live import executions

_LOOK_EVERY = 0.005


@dataclass(slots=True)
class Signals:
    """Between the crew and its hands. ``counts`` and ``sent`` have a place for each of them."""

    ready: Any
    go: Event
    done: Event
    counts: Any
    sent: Any
    reports: Any


def work(settings: Settings, number: int, signals: Signals, traces: Path) -> None:
    """What a hand runs: waits for the others and for ``go``, works until ``done``, drains and reports."""
    uvloop.run(_work(settings, number, signals, traces / str(number)))


async def _work(settings: Settings, number: int, signals: Signals, path: Path) -> None:
    report = Report()
    statements = _count_statements()
    _time_claims(report)
    with path.open("wb") as file:
        trace = Trace(file)
        app = _handlers(report, trace, _ahead_of_server(settings))
        worker = Worker(settings, app=app, events=Events(logging_listener(logging.getLogger("pgsched.bench"))))
        signals.ready.wait(60)
        await asyncio.get_running_loop().run_in_executor(None, signals.go.wait)
        cpu = time.process_time()
        await worker.start()
        report.last = time.monotonic()
        while not signals.done.is_set():
            await asyncio.sleep(_LOOK_EVERY)
            signals.sent[number] = statements[0]
            if worker.settler.settled_count != signals.counts[number]:
                signals.counts[number], report.last = worker.settler.settled_count, time.monotonic()
        report.cpu_seconds = time.process_time() - cpu
        await worker.drain()
        trace.flush()
    report.statements = statements[0]
    signals.reports.put(report)


def _handlers(report: Report, trace: Trace, ahead: float) -> App:
    app = App()

    @app.handler("noop")
    async def noop() -> None:
        report.delivered += 1

    @app.handler("trace")
    async def traced(payload: dict[str, Any]) -> None:
        report.delivered += 1
        trace.add(payload["order"])

    @app.handler("stamp")
    async def stamp(payload: float) -> None:
        now = time.time()
        report.lateness.add(int((now - ahead - payload) * 1e6), now)
        report.delivered += 1

    return app


def _ahead_of_server(settings: Settings) -> float:
    """Seconds by which this machine's clock is ahead of the server's; the shortest of many round trips decides."""
    best, ahead = float("inf"), 0.0
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        for _ in range(50):
            sent = time.time()
            row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
            received = time.time()
            if row and received - sent < best:
                best, ahead = received - sent, (sent + received) / 2 - row[0]
    return ahead


def _count_statements() -> list[int]:
    """Counts what this process sends; begin and commit count as statements."""
    count = [0]
    execute, transaction = psycopg.AsyncCursor.execute, psycopg.AsyncConnection.transaction

    async def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        return await execute(self, *args, **kwargs)

    def counted_transaction(self: Any, *args: Any, **kwargs: Any) -> Any:
        count[0] += 2
        return transaction(self, *args, **kwargs)

    psycopg.AsyncCursor.execute = counted  # type: ignore[method-assign]
    psycopg.AsyncConnection.transaction = counted_transaction  # type: ignore[method-assign]
    return count


def _time_claims(report: Report) -> None:
    claim: Callable[..., Awaitable[Any]] = executions.claim

    async def timed(*args: Any, **kwargs: Any) -> Any:
        started = time.monotonic()
        rows = await claim(*args, **kwargs)
        ended = time.monotonic()
        report.claims.add(int((ended - started) * 1e6), ended)
        return rows

    executions.claim = timed
