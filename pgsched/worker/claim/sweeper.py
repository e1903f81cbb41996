"""The sweeper: finds due rows behind the front, where claims no longer read.

Claims begin to read a moment before the current instant, not at the left edge of the index (``earliest_due``). A row
can be further back if its notification was not sent or was lost, if its transaction was long, or if a stopped worker
handed it back. While claims skip a client's rows, they must not begin further back: a client over its limit may have a
million due rows, and reading all of them would keep every other client waiting.

A sweep reads every partition from the left edge of its index, in parts, while claims go on. If claims skip no rows, the
sweeper only tells the claimer where to begin. If claims skip rows, the sweeper finds spans with rows to claim, and
continues when these rows have been claimed. A sweep begins every poll interval or, if the previous sweep takes longer,
when that sweep ends.

Reading takes one part in ``ONE_IN`` of the time. If reading all rows behind the front takes t seconds, every row is
found within the poll interval plus ``2 * ONE_IN * t`` seconds. While the worker is idle and there are no dead entries
at the edge, the claimer's looks read from the edge, and the sweeper reads nothing.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping

from pgsched.service import DutyCycle, Service, Signal
from pgsched.store.core.connect import Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import InstantRange, WaitingRange, peek
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.earliest_due import HELP_AFTER, Front
from pgsched.worker.claim.row_filters import RowFilters
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.run.dispatcher import Dispatcher

ONE_IN, OTHERS_ONE_IN = 4, 4
_PART = 1_000  # rows of a partition that one statement reads
_CLAIMED_SOON, _NOT_YET = 0.5, 0.02
_SMALLEST_BATCH = 16
_MARGIN = 10_000  # microseconds by which the estimate of the database's time may be wrong


class Sweeps:
    """Decides what the sweeper reads next, and when (``pace``). Marks are instants."""

    def __init__(self, *, every: float) -> None:
        self._every, self.pace = every, DutyCycle(ONE_IN)
        self._marks: dict[int, int] = {}
        self._begun_at = float("-inf")
        self._count, self._seconds = 0, 0.0
        self.took = float("inf")
        """Seconds that the last sweep spent reading."""

    def next(self, own: Collection[int], others: Collection[int] = (), *, is_partial: bool = False) -> dict[int, int]:
        """Returns the marks from which to continue now, by partition, or no marks if there is nothing to read yet.

        Sweeps read the worker's ``own`` partitions and the ``others``, whose workers may have no room. If claims skip
        rows (``is_partial``), sweeps take long, so only one in ``OTHERS_ONE_IN`` reads the others.
        """
        if not self.pace.is_due:
            return {}
        now, kept = time.monotonic(), {*own, *others}
        self._marks = {partition: mark for partition, mark in self._marks.items() if partition in kept}
        if not self._marks and now - self._begun_at >= self._every:
            with_others = not is_partial or self._count % OTHERS_ONE_IN == 0
            self._marks = dict.fromkeys([*own, *others] if with_others else own, LONG_AGO)
            self._begun_at, self._count, self._seconds = now, self._count + 1, 0.0
        return dict(self._marks)

    def read(self, read_to: Mapping[int, int | None], *, seconds: float) -> None:
        """Records how far each partition was read (None means to the end), and the seconds that reading took."""
        for partition, mark in read_to.items():
            if mark is None:
                self._marks.pop(partition, None)
            else:
                self._marks[partition] = mark
        self._seconds += seconds
        if read_to and not self._marks:
            self.took = self._seconds

    def swept(self, seconds: float) -> None:
        """Records that the claimer has just read all partitions from the left edge, and how long this took. An idle
        claimer reads them every poll interval, so the next sweep waits a little longer than that interval."""
        self._begun_at, self.took = time.monotonic() + self._every / 10, seconds

    @property
    def pause(self) -> float:
        """Seconds until the sweeper should read again."""
        until_sweep = 0.0 if self._marks else self._begun_at + self._every - time.monotonic()
        return max(until_sweep, self.pace.pause)


class Sweeper(Service):
    """Reads the partitions up to the front.

    The signal ``expected`` passes the partition and instant of a row that claims can reach. ``found`` maps each
    partition to the spans with rows that claims cannot reach. The signal ``has_found`` means that there are such spans.
    """

    name = "sweeper"

    def __init__(
        self,
        link: Link,
        events: Events,
        assignment: Assignment,
        clock: DatabaseClock,
        dispatcher: Dispatcher,
        *,
        front: Front,
        every: float,
        selection: RowFilters,
    ) -> None:
        super().__init__(events, link)
        self._link, self._assignment, self._clock, self._dispatcher = link, assignment, clock, dispatcher
        self._front, self._selection = front, selection
        self.expected: Signal[[int, int]] = Signal()
        self.has_found: Signal[[]] = Signal()
        self.found: dict[int, InstantRange] = {}
        self.sweeps = Sweeps(every=every)

    async def turn(self) -> float:
        if not (self._assignment.number and self._selection.is_ready and self._clock.known):
            return _NOT_YET
        self._keep_open()
        if not self.found:
            await self._read()
        if self.found:
            self.has_found()
            return _CLAIMED_SOON  # ``claimed`` wakes the service earlier
        return self.sweeps.pause

    async def close(self) -> None:
        await self._link.drop()

    async def _read(self) -> None:
        """Reads a part of each partition, and records where there are rows to claim."""
        others = set(self._assignment.open).difference(self._assignment.own) if self._dispatcher.spare else set()
        marks = self.sweeps.next(self._assignment.own, others, is_partial=self._selection.is_partial)
        spans = {partition: InstantRange(mark, self._end(partition)) for partition, mark in marks.items()}
        spans = {partition: span for partition, span in spans.items() if span.low < span.until}
        read_to: dict[int, int | None] = dict.fromkeys(marks)
        seconds = 0.0
        if spans:
            async with self.sweeps.pace.work_on(self._link) as connection:
                started, rows = time.monotonic(), self._selection.row_filter
                parts = await peek(connection, spans, most=_PART, row_filter=rows)
                seconds = time.monotonic() - started
            read_to |= {partition: self._note(partition, spans[partition], part) for partition, part in parts.items()}
        self.sweeps.read(read_to, seconds=seconds)

    def _end(self, partition: int) -> int:
        """Returns where a sweep of a partition stops: where claims begin or, in another worker's partition, at the
        first row that is not overdue enough for help."""
        begin = self._front.begin(partition)
        return begin if partition in self._assignment.own else min(begin, self._clock.now() - HELP_AFTER)

    def _note(self, partition: int, span: InstantRange, part: WaitingRange) -> int | None:
        """Records what a part contains. Returns the mark from which to continue, or None at the end."""
        is_one_instant = part.read_to == span.low  # a single instant may have more rows than a part
        if not self._selection.is_partial:
            if part.first is None:
                return part.read_to
            self.expected(partition, part.first)
            return None
        if part.first is not None or is_one_instant:
            first = span.low if part.first is None else part.first
            self.found[partition] = InstantRange(first, span.until if part.read_to is None else part.read_to)
        return span.low + 1 if is_one_instant else part.read_to

    def shares(self, room: int, *, batch: int) -> tuple[list[PartitionShare], int]:
        """Returns the shares of ``found`` to claim next, earliest first, and the instant up to which to claim: a little
        after the first end of a span."""
        self._keep_open()
        until = min((span.until for span in self.found.values()), default=LONG_AGO)
        room = min(batch, max(room, _SMALLEST_BATCH))
        found = sorted((span.low, partition) for partition, span in self.found.items() if span.low <= until)[:room]
        return [PartitionShare(partition, low, room // len(found)) for low, partition in found], until + _MARGIN

    def _keep_open(self) -> None:
        """Forgets spans in partitions that are no longer open."""
        self.found = {partition: span for partition, span in self.found.items() if partition in self._assignment.open}

    def claimed(self, shares: list[PartitionShare], answer: Claimed) -> None:
        """Records the result of a claim of these shares. Keeps the rest of a span if the span's share was full, and
        adds a span for each planned row that claims do not reach."""
        taken = defaultdict[int, list[int]](list)
        for row in answer.taken:
            taken[row.partition].append(row.fire_at)
        for partition, _, batch in shares:
            if partition not in self.found:
                continue
            span, instants = self.found.pop(partition), taken[partition]
            if len(instants) == batch and max(instants) <= span.until:  # a claim reads a little further
                self.found[partition] = span._replace(low=max(instants))
        for partition, instant in answer.planned.items():
            if partition not in self.found and instant < self._end(partition):
                self.found[partition] = InstantRange(instant, instant)
        if not self.found:
            self.wake()
