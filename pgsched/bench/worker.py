"""One worker process of a benchmark: an ordinary worker, with counting handlers and an observer of its batches."""

import asyncio
import logging
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import psycopg
import uvloop

from pgsched.bench.worker_report import Trace, WorkerReport
from pgsched.delivery.app import App
from pgsched.metrics.counters import Counters
from pgsched.metrics.files import Counting
from pgsched.observer import BatchClaimed, BatchSettled, Observer
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.telemetry import Events, logging_listener
from pgsched.worker_process import tune_interpreter


@dataclass(slots=True)
class Signals:
    """Signals between a benchmark and its worker processes. ``counts`` lists how many rows each has settled."""

    ready: Any
    go: Event
    done: Event
    counts: Any
    reports: Any


def work(settings: Settings, number: int, signals: Signals, traces: Path) -> None:
    """Runs a worker process: waits for the other processes and for ``go``, works until ``done``, drains and reports."""
    tune_interpreter()
    uvloop.run(_work(settings, number, signals, traces / str(number)))


async def _work(settings: Settings, number: int, signals: Signals, path: Path) -> None:
    report, loop = WorkerReport(), asyncio.get_running_loop()
    with path.open("wb") as file:
        trace = Trace(file)
        app = _handlers(report, trace, _ahead_of_server(settings))
        log, noting = logging_listener(logging.getLogger("pgsched.bench")), _Counting(report, signals.counts, number)
        counting = Counting(Counters(), _directory_for_metrics(path)) if settings.metrics else None
        if counting is None:
            events = Events(log, observers=[noting])
        else:
            events = Events(log, counting.counters, observers=[noting, counting.counters])
        worker = Worker(settings, app=app, events=events, counting=counting)
        signals.ready.wait(60)
        await loop.run_in_executor(None, signals.go.wait)
        cpu, report.last = time.process_time(), time.monotonic()
        await worker.start()
        await loop.run_in_executor(None, signals.done.wait)
        report.cpu_seconds = time.process_time() - cpu
        await worker.drain()
        trace.flush()
    signals.reports.put(report)


def _directory_for_metrics(path: Path) -> Path:
    """Creates the directory for Prometheus counts. Nothing reads the counts, but writing them costs as much
    as in production."""
    directory = path.with_suffix(".metrics")
    directory.mkdir()
    return directory


def _handlers(report: WorkerReport, trace: Trace, ahead: float) -> App:
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
    """Returns how many seconds this machine's clock is ahead of the server's, according to the shortest of many round
    trips."""
    best, ahead = float("inf"), 0.0
    with psycopg.connect(str(settings.database_url), autocommit=True) as connection:
        for _ in range(50):
            sent = time.time()
            row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
            received = time.time()
            if row and received - sent < best:
                best, ahead = received - sent, (sent + received) / 2 - row[0]
    return ahead


class _Counting(Observer):
    """Adds the worker's batches to the report, and counts the rows settled so far."""

    def __init__(self, report: WorkerReport, settled: Any, number: int) -> None:
        self._report, self._settled, self._number = report, settled, number

    def claimed(self, batch: BatchClaimed) -> None:
        self._report.statements += batch.statements
        if not batch.at_once:
            self._report.claims.add(int(batch.seconds * 1e6), time.monotonic())

    def settled(self, batch: BatchSettled) -> None:
        self._report.statements += batch.statements
        if batch.rows:
            self._settled[self._number] += batch.rows
            self._report.last = time.monotonic()
