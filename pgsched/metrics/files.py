"""Collects the counts of one command's processes. Each process writes a file, and one process reads all files.

Files outlive their processes, so a killed process loses at most the counts of its last second. Each command creates a
new directory that only its user can access.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import msgspec

from pgsched.metrics.catalogue import OF_WORKERS
from pgsched.metrics.counters import Counters
from pgsched.metrics.counts import Counts
from pgsched.service import Service
from pgsched.telemetry import Events

_EVERY, _FRESH = 1.0, 60.0  # seconds between writes; seconds for which a written file counts as fresh
_GAUGES = {name for name, metric in OF_WORKERS.items() if metric.kind == "gauge"}
_decode = msgspec.msgpack.Decoder(Counts).decode


@dataclass(frozen=True, slots=True)
class Counting:
    """A worker process's counters, and the directory for its file."""

    counters: Counters
    directory: Path


class Writing(Service):
    """Writes a process's counts once a second, with the names of its queues and its current gauges."""

    name = "metrics"

    def __init__(
        self,
        events: Events,
        counting: Counting,
        *,
        queue_names: Callable[[], Mapping[int, str]],
        gauges: Callable[[], Mapping[str, float]],
    ) -> None:
        super().__init__(events)
        self._counters, self._file = counting.counters, counting.directory / str(os.getpid())
        self._queue_names, self._gauges = queue_names, gauges

    async def turn(self) -> float:
        self.write()
        return _EVERY

    def write(self) -> None:
        """Replaces the file atomically, so that readers see either the old or the new file."""
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.msgpack.encode(self._counters.counts(self._queue_names(), self._gauges())))
        new.replace(self._file)


class Reading:
    """Adds up the counts of all processes in a directory, including those that have ended.

    Processes are numbered from 1. A new process takes the number of a process that has ended, so numbers do not grow.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._ended = directory, Counts()
        self._numbers: dict[str, int] = {}
        self._turn = Lock()

    def read(self) -> Counts:
        """Returns the sum of all counts. May be called from any thread."""
        with self._turn:
            found, fresh = Counts(), 0
            files = [file for file in self._directory.glob("*") if file.name.isdigit()]
            self._number({file.name for file in files if _lives(int(file.name))})
            for file in files:
                fresh += self._add(file, found)
            found.add(self._ended)
            found.count(fresh, "pgsched_worker_processes")
            return found

    def _add(self, file: Path, found: Counts) -> bool:
        """Adds a file's counts to ``found``, and returns whether the process is still active. If the process has ended,
        adds the counts to those of ended processes, and deletes the file."""
        number = self._numbers.get(file.name)
        with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
            counted, written_at = _decode(file.read_bytes()), file.stat().st_mtime
            if number is not None:
                found.add(_with_number(counted, number))
                return time.time() - written_at < _FRESH
            self._ended.add(counted, without=_GAUGES)
            file.unlink()
        return False

    def _number(self, living: set[str]) -> None:
        self._numbers = {name: number for name, number in self._numbers.items() if name in living}
        free = sorted(set(range(1, len(living) + 1)) - set(self._numbers.values()))
        for name in sorted(living - self._numbers.keys(), key=int):
            self._numbers[name] = free.pop(0)


def _with_number(counted: Counts, number: int) -> Counts:
    """Labels the gauges of a process with the process's number."""
    for name in _GAUGES & counted.values.keys():
        if OF_WORKERS[name].labels:
            counted.values[name] = {(str(number),): value for value in counted.values[name].values()}
    return counted


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
