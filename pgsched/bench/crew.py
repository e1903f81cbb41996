"""Worker processes for a benchmark: started, ready, and set off at one moment."""

import asyncio
import logging
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

import psycopg
import uvloop

from pgsched.delivery.python import App
from pgsched.events import Events, logging_listener
from pgsched.scheduler import Worker
from pgsched.settings import Settings

_context = multiprocessing.get_context("spawn")


@dataclass(slots=True)
class Report:
    """What one worker process did. ``last`` is the system-wide monotonic moment of its last settle."""

    delivered: int
    last: float
    statements: int
    cpu_seconds: float
    lateness_ms: list[float]


@dataclass(slots=True)
class Crew:
    """The processes, the signals between them and here."""

    processes: list[Any]
    go: Event
    done: Event
    counts: Any
    sent: Any
    reports: Any

    def settled(self) -> int:
        """How many executions all workers together have settled so far."""
        return sum(self.counts)

    def statements(self) -> int:
        """How many statements all workers together have sent so far."""
        return sum(self.sent)

    def finish(self) -> list[Report]:
        """Lets the workers drain and collects what they have to tell."""
        self.done.set()
        reports: list[Report] = [self.reports.get(timeout=60) for _ in self.processes]
        for process in self.processes:
            process.join(30)
        return reports


@contextmanager
def crew(settings: Settings, *, processes: int, measure_lateness: bool = False) -> Iterator[Crew]:
    """Starts the processes and waits until each has joined; they claim from ``go`` on."""
    ready = _context.Barrier(processes + 1)
    made = Crew(
        [],
        _context.Event(),
        _context.Event(),
        _context.Array("q", processes),
        _context.Array("q", processes),
        _context.Queue(),
    )
    for number in range(processes):
        arguments = (
            settings,
            number,
            ready,
            made.go,
            made.done,
            made.counts,
            made.sent,
            made.reports,
            measure_lateness,
        )
        process = _context.Process(target=_main, args=arguments, daemon=True)
        process.start()
        made.processes.append(process)
    try:
        ready.wait(60)
        yield made
    finally:
        made.done.set()
        for process in made.processes:
            process.join(10)
            if process.is_alive():
                process.kill()


def _main(settings: Settings, *arguments: Any) -> None:
    uvloop.run(_work(settings, *arguments))


async def _work(
    settings: Settings,
    number: int,
    ready: Any,
    go: Event,
    done: Event,
    counts: Any,
    sent: Any,
    reports: Any,
    lateness: bool,
) -> None:
    statements = _count_statements()
    app, delivered, late = _handlers(settings, lateness)
    worker = Worker(settings, app=app, events=Events(logging_listener(logging.getLogger("pgsched.bench"))))
    ready.wait(60)
    await asyncio.get_running_loop().run_in_executor(None, go.wait)
    cpu = time.process_time()
    await worker.start()
    last = time.monotonic()
    while not done.is_set():
        await asyncio.sleep(0.005)
        sent[number] = statements[0]
        if worker.settler.settled_count != counts[number]:
            counts[number], last = worker.settler.settled_count, time.monotonic()
    spent = time.process_time() - cpu
    await worker.drain()
    reports.put(Report(delivered[0], last, statements[0], spent, late))


def _handlers(settings: Settings, lateness: bool) -> tuple[App, list[int], list[float]]:
    app, delivered, late = App(), [0], list[float]()

    @app.handler("noop")
    async def noop() -> None:
        delivered[0] += 1

    if lateness:
        ahead = _ahead_of_server(settings)

        @app.handler("stamp")
        async def stamp(payload: float) -> None:
            late.append((time.time() - ahead - payload) * 1000)
            delivered[0] += 1

    return app, delivered, late


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
