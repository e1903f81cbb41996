"""The rear: finds due rows that stand behind the front, where claims no longer read.

Claims and looks begin a moment back, not at the left edge of the index (``sight``). A row can stand further back: its
notification was silenced or lost, its transaction was long, or a worker that left handed it back. And while a client is
passed over, claims begin no more than a moment before the present (``selection``), because to pass over a row is to
read it: a client over its limit may have a million due rows, and a claim that read past all of them would keep every
other client waiting.

The rear reads what stands there beside the claims, in parts and in laps (``laps``), so that every row is found within a
bound whatever else is going on. If no client is passed over, it tells the claimer, which claims from there on.
Otherwise it claims what it found itself. While it waits for room, the claimer leaves it every other place.

While the worker has nothing to do and there are no dead entries at the edge, the claimer's looks read from there, and
the rear has nothing to read.
"""

import time
from collections import Counter
from datetime import timedelta

from pgsched.service import Signal
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import looking
from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.looking import Span
from pgsched.worker.claim.claiming import Claiming
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.laps import Laps
from pgsched.worker.claim.leases import Leases
from pgsched.worker.claim.selection import Front, Selection
from pgsched.worker.claim.sight import HELP_AFTER
from pgsched.worker.gates.admission import Admission
from pgsched.worker.run.dispatcher import Dispatcher

_PART = 1_000  # rows of a partition that are read at once
_NO_ROOM, _NOT_YET = 0.005, 0.02
_SMALLEST_BATCH = 16
_MARGIN = 10_000  # microseconds by which the database's time may be misjudged


class Rear(Claiming):
    """Reads the partitions up to the front. Marks are instants (wire counts).

    ``expected`` names the partition and instant of each row that is the claimer's to claim. ``is_waiting``: it has
    found rows and there is no room for them. ``went_last``: it was the rear that last claimed, not the claimer.
    """

    name = "rear"

    def __init__(
        self,
        leases: Leases,
        dispatcher: Dispatcher,
        *,
        front: Front,
        every: float,
        batch: int,
        admission: Admission,
        fairness: Fairness,
        selection: Selection,
    ) -> None:
        super().__init__(leases, dispatcher)
        self._front, self._batch = front, batch
        self._admission, self._fairness, self._selection = admission, fairness, selection
        self.expected: Signal[[int, int]] = Signal()
        self.laps = Laps(every=every)
        self.is_waiting = self.went_last = False
        self._found: dict[int, Span] = {}
        front.left_behind.connect(self._read_from)

    def _read_from(self, partition: int, mark: int) -> None:
        """Has this partition read from this instant on."""
        self.laps.note(partition, mark)
        self.wake()

    async def turn(self) -> float:
        await self.leases.give_back()
        if not (self._roster.number and self._selection.is_ready and self._clock.known):
            return _NOT_YET
        self._found = {partition: span for partition, span in self._found.items() if partition in self._roster.open}
        if not self._found:
            await self._read()
        if not self._found:
            self.is_waiting = False
            return self.laps.pause
        if not self._dispatcher.free:
            self.is_waiting = True
            return _NO_ROOM
        await self._claim()
        return 0.0

    async def _read(self) -> None:
        """Reads a part of each partition and notes where there are rows that are not passed over."""
        others = set(self._roster.open).difference(self._roster.own) if self._dispatcher.spare else set()
        marks = self.laps.next(self._roster.own, others, is_partial=self._selection.is_partial)
        spans = {partition: Span(mark, self._end(partition)) for partition, mark in marks.items()}
        spans = {partition: span for partition, span in spans.items() if span.low < span.until}
        read_to: dict[int, int | None] = dict.fromkeys(marks)
        seconds = 0.0
        if spans:
            async with self.laps.pace.work_on(self._link) as connection:
                started, row_filter = time.monotonic(), self._selection.row_filter
                parts = await looking.peek(connection, spans, most=_PART, row_filter=row_filter)
                seconds = time.monotonic() - started
            read_to |= {partition: self._note(partition, spans[partition], part) for partition, part in parts.items()}
        self.laps.read(read_to, seconds=seconds)

    def _end(self, partition: int) -> int:
        """Up to where this partition is read: where claims begin, or where another worker's is helped with."""
        low = self._front.low(partition)
        return low if partition in self._roster.own else min(low, self._clock.now() - HELP_AFTER)

    def _note(self, partition: int, span: Span, part: looking.WaitingRange) -> int | None:
        """Notes what was found in a part. Returns the mark from which to read on, if there may be more behind it."""
        is_one_instant = part.read_to == span.low  # which may have more rows than a part
        if not self._selection.is_partial:
            if part.first is None:
                return part.read_to
            self.expected(partition, part.first)
            return None
        if part.first is not None or is_one_instant:
            first = span.low if part.first is None else part.first
            self._found[partition] = Span(first, span.until if part.read_to is None else part.read_to)
        return span.low + 1 if is_one_instant else part.read_to

    async def _claim(self) -> None:
        """Claims and submits some of what was found. Where a share was taken whole there may be more."""
        until = min(span.until for span in self._found.values())
        found = sorted((span.low, partition) for partition, span in self._found.items() if span.low <= until)
        room = min(self._batch, max(self._dispatcher.free, _SMALLEST_BATCH))
        found = found[:room]
        shares = [Share(partition, low, room // len(found)) for low, partition in found]
        now = self._clock.now()
        ahead = timedelta(microseconds=until + _MARGIN - now)
        row_filter = self._selection.row_filter
        answer = await self.leases.claim(shares, ahead, admit=self._admission.admit, row_filter=row_filter)
        self.is_waiting, self.went_last = False, True
        self._dispatcher.submit(answer.rows, answer.sure_until)
        if len(answer.taken) >= room:
            self._fairness.observe(answer.taken, room, now)
        self._note_claimed(shares, answer)
        for partition, instant in answer.planned.items():
            if instant < self._front.low(partition):
                self.laps.note(partition, instant)
            else:
                self.expected(partition, instant)

    def _note_claimed(self, shares: list[Share], answer: Claimed) -> None:
        counts, last = Counter(row.partition for row in answer.taken), dict.fromkeys(self._found, LONG_AGO)
        for row in answer.taken:
            last[row.partition] = max(row.fire_at, last[row.partition])
        for partition, _, batch in shares:
            # A claim reaches a moment further than what was found.
            if counts[partition] < batch or last[partition] > self._found[partition].until:
                del self._found[partition]
            else:
                self._found[partition] = self._found[partition]._replace(low=last[partition])
