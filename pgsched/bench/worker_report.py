"""The report of a benchmark's worker process, and the trace of its deliveries."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pgsched.bench.histogram import ByMinute

_WRITTEN_AT_ONCE = 16_384


@dataclass(slots=True)
class WorkerReport:
    """What one worker process did.

    ``last`` is the time at which the process last settled a batch (system-wide monotonic clock). ``statements`` counts
    claim and settle statements. ``lateness`` covers executions whose payloads contain their due times. ``claims``
    contains the durations of claim transactions.
    """

    delivered: int = 0
    last: float = 0.0
    statements: int = 0
    cpu_seconds: float = 0.0
    lateness: ByMinute = field(default_factory=ByMinute)
    claims: ByMinute = field(default_factory=ByMinute)


def together(counts: Iterable[ByMinute]) -> ByMinute:
    """Merges the histograms of all processes."""
    whole = ByMinute()
    for one in counts:
        whole.merge(one)
    return whole


class Trace:
    """A file with the numbers of the executions that this process has delivered, four bytes each."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._pending = file, array("I")

    def add(self, number: int) -> None:
        """Records one delivery."""
        self._pending.append(number)
        if len(self._pending) >= _WRITTEN_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered numbers to the file."""
        self._pending.tofile(self._file)
        self._file.flush()
        del self._pending[:]


def account(directory: Path, count: int) -> None:
    """Raises AssertionError unless all traces together contain each number below ``count`` exactly once."""
    seen = bytearray(count)
    unknown = again = 0
    for file in directory.iterdir():
        with file.open("rb") as trace:
            while numbers := array("I", trace.read(4 * _WRITTEN_AT_ONCE)):
                for number in numbers:
                    if number >= count:
                        unknown += 1
                    elif seen[number]:
                        again += 1
                    else:
                        seen[number] = 1
    missing = seen.count(0)
    if missing or again or unknown:
        raise AssertionError(f"of {count}: {missing} not delivered, {again} delivered again, {unknown} unknown")
