"""What the sweeper reads next, and how fast: sweeps over the partitions, each from a mark in them on.

A full sweep reads every partition from the left edge of its index. One begins every poll interval, or as soon as the
one before has ended if that took longer. Between two full sweeps, partial ones read on from the marks that were noted
meanwhile. A sweep never starts again before it has ended, so no mark, however often it is noted, keeps the rest from
being read: a row that stands when a full sweep begins is read by that sweep.

Reading takes one part in ``ONE_IN`` of the time. So whatever comes in, a row is read within the poll interval and twice
``ONE_IN`` times as long as it takes to read once all rows that stand before the front.
"""

import time
from collections.abc import Collection, Iterable, Mapping

from pgsched.service import DutyCycle
from pgsched.store.core.wire import LONG_AGO

ONE_IN, OTHERS_ONE_IN = 4, 4


class Sweeps:
    """Marks are instants (wire counts). What reads does so at the ``pace``."""

    def __init__(self, *, every: float) -> None:
        self._every, self.pace = every, DutyCycle(ONE_IN)
        self._marks: dict[int, int] = {}
        self._noted: dict[int, int] = {}
        self._begun_at = float("-inf")
        self._is_full, self._count, self._seconds = False, 0, 0.0
        self.took = float("inf")
        """Seconds of reading in the last full sweep."""

    def note(self, partition: int, mark: int) -> None:
        """Has this partition read from this instant on, once the sweep under way has ended."""
        self._noted[partition] = min(mark, self._noted.get(partition, mark))

    def next(self, own: Collection[int], others: Collection[int] = (), *, is_partial: bool = False) -> dict[int, int]:
        """The marks to read on from now. Empty while there is nothing to read, or nothing may be read.

        Full sweeps read the worker's ``own`` partitions and the ``others``, of workers that may have no room. If it
        ``is_partial``, reading those takes long, and only one full sweep in ``OTHERS_ONE_IN`` does.
        """
        if not self.pace.is_due:
            return {}
        if not self._keep([*own, *others]):
            self._begin(own if is_partial and self._count % OTHERS_ONE_IN else [*own, *others])
        return dict(self._marks)

    def read(self, read_to: Mapping[int, int | None], *, seconds: float) -> None:
        """Notes how far each partition was read, None for one that was read to its end, and the seconds it took."""
        for partition, mark in read_to.items():
            if mark is None:
                self._marks.pop(partition, None)
            else:
                self._marks[partition] = mark
        self._seconds += seconds
        if self._is_full and not self._marks:
            self.took = self._seconds

    def swept(self, seconds: float) -> None:
        """Notes that somebody else has just read all partitions from the left edge, in this many seconds. They do so
        every poll interval, so a full sweep waits a moment longer than that."""
        self._begun_at, self.took = time.monotonic() + self._every / 10, seconds

    @property
    def pause(self) -> float:
        """Seconds until there is something to read."""
        until_sweep = 0.0 if self._marks or self._noted else self._begun_at + self._every - time.monotonic()
        return max(until_sweep, self.pace.pause)

    def _keep(self, partitions: Iterable[int]) -> bool:
        """Forgets all other partitions. Returns whether anything of the sweep is left."""
        kept = set(partitions)
        self._marks = {partition: mark for partition, mark in self._marks.items() if partition in kept}
        self._noted = {partition: mark for partition, mark in self._noted.items() if partition in kept}
        return bool(self._marks)

    def _begin(self, partitions: Iterable[int]) -> None:
        now = time.monotonic()
        self._is_full, self._seconds = now - self._begun_at >= self._every, 0.0
        self._marks, self._noted = dict.fromkeys(partitions, LONG_AGO) if self._is_full else self._noted, {}
        if self._is_full:
            self._begun_at, self._count = now, self._count + 1
