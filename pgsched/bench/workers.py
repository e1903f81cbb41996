"""The worker processes of a benchmark, which all start claiming at the same time."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from pgsched.bench.processes import CONTEXT, collect, running
from pgsched.bench.worker import Signals, work
from pgsched.bench.worker_report import WorkerReport, account
from pgsched.settings import Settings


@dataclass(slots=True)
class BenchmarkWorkers:
    """The worker processes, and the signals to and from them."""

    signals: Signals
    traces: Path
    processes: list[Any]

    @property
    def go(self) -> Event:
        """The event that starts the workers."""
        return self.signals.go

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [process.pid for process in self.processes]

    def settled(self) -> int:
        """Returns the number of executions that all workers together have settled so far."""
        return sum(self.signals.counts)

    def await_settled(self, count: int, *, within: float) -> None:
        """Waits until ``count`` executions are settled, time runs out, or the workers make no progress. Call
        ``account`` for the result."""
        settled, moved = -1, time.monotonic()
        deadline = moved + within
        while settled < count and time.monotonic() < min(deadline, moved + 60) and self.alive():
            time.sleep(0.02)
            if self.settled() != settled:
                settled, moved = self.settled(), time.monotonic()

    def alive(self) -> bool:
        """Whether all workers are still running."""
        return all(process.is_alive() for process in self.processes)

    def finish(self) -> list[WorkerReport]:
        """Makes the workers drain, and returns their reports. Raises AssertionError if a worker has died."""
        self.signals.done.set()
        reports: list[WorkerReport] = collect(self.signals.reports, self.processes, within=60)
        for process in self.processes:
            process.join(30)
        return reports

    def account(self, count: int) -> None:
        """Checks that ``python:trace`` recorded each number below ``count`` exactly once. Call it after ``finish``."""
        account(self.traces, count)


@contextmanager
def benchmark_workers(settings: Settings, *, processes: int) -> Iterator[BenchmarkWorkers]:
    """Starts the processes, and waits until all are ready. They start claiming when ``go`` is set."""
    signals = Signals(
        ready=CONTEXT.Barrier(processes + 1),
        go=CONTEXT.Event(),
        done=CONTEXT.Event(),
        counts=CONTEXT.Array("q", processes),
        reports=CONTEXT.Queue(),
    )
    with tempfile.TemporaryDirectory(prefix="pgsched-bench-") as directory:
        shares = [(settings, number, signals, Path(directory)) for number in range(processes)]
        with running(work, shares, patience=10) as started:
            try:
                signals.ready.wait(60)
                yield BenchmarkWorkers(signals, Path(directory), started)
            finally:
                signals.done.set()
                signals.go.set()
