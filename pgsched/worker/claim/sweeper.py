"""The sweeper: finds due rows that stand behind the front, where claims no longer read.

Claims and looks begin a moment back, not at the left edge of the index (``horizon``). A row can stand further back: its
notification was silenced or lost, its transaction was long, or a worker that left handed it back. And while a client is
passed over, claims begin no further back than a moment ago, because to pass over a row is to read it: a client over its
limit may have a million due rows, and a claim that read past all of them would keep every other client waiting.

The sweeper reads what stands there beside the claims, in parts and in sweeps (``sweeps``), so that every row is found
within a bound whatever else is going on. If no client is passed over, it only tells the claimer from where to claim.
Otherwise it names the spans that are worth a claim, and reads on once they have been claimed.

While the worker has nothing to do and there are no dead entries at the edge, the claimer's looks read from there, and
the sweeper has nothing to read.
"""

import time
from collections import defaultdict

from pgsched.events import Events
from pgsched.service import Service, Signal
from pgsched.store.core.connect import Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import looking
from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.looking import InstantRange
from pgsched.worker.claim.horizon import HELP_AFTER, Front
from pgsched.worker.claim.selection import Selection
from pgsched.worker.claim.sweeps import Sweeps
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.roster import Roster
from pgsched.worker.run.dispatcher import Dispatcher

_PART = 1_000  # rows of a partition that are read at once
_CLAIMED_SOON, _NOT_YET = 0.5, 0.02
_SMALLEST_BATCH = 16
_MARGIN = 10_000  # microseconds by which the database's time may be misjudged


class Sweeper(Service):
    """Reads the partitions up to the front. Marks are instants (wire counts).

    ``expected`` names the partition and instant of each row that claims reach; ``found`` has the spans of the
    partitions that they do not, and ``has_found`` says that there are some.
    """

    name = "sweeper"

    def __init__(
        self,
        link: Link,
        events: Events,
        roster: Roster,
        clock: DatabaseClock,
        dispatcher: Dispatcher,
        *,
        front: Front,
        every: float,
        selection: Selection,
    ) -> None:
        super().__init__(events, link)
        self._link, self._roster, self._clock, self._dispatcher = link, roster, clock, dispatcher
        self._front, self._selection = front, selection
        self.expected: Signal[[int, int]] = Signal()
        self.has_found: Signal[[]] = Signal()
        self.found: dict[int, InstantRange] = {}
        self.sweeps = Sweeps(every=every)
        front.left_behind.connect(self._read_from)

    def _read_from(self, partition: int, mark: int) -> None:
        """Has this partition read from this instant on."""
        self.sweeps.note(partition, mark)
        self.wake()

    async def turn(self) -> float:
        if not (self._roster.number and self._selection.is_ready and self._clock.known):
            return _NOT_YET
        self._keep_open()
        if not self.found:
            await self._read()
        if self.found:
            self.has_found()
            return _CLAIMED_SOON  # woken once it is
        return self.sweeps.pause

    async def close(self) -> None:
        await self._link.drop()

    async def _read(self) -> None:
        """Reads a part of each partition and notes where there are rows that are not passed over."""
        others = set(self._roster.open).difference(self._roster.own) if self._dispatcher.spare else set()
        marks = self.sweeps.next(self._roster.own, others, is_partial=self._selection.is_partial)
        spans = {partition: InstantRange(mark, self._end(partition)) for partition, mark in marks.items()}
        spans = {partition: span for partition, span in spans.items() if span.low < span.until}
        read_to: dict[int, int | None] = dict.fromkeys(marks)
        seconds = 0.0
        if spans:
            async with self.sweeps.pace.work_on(self._link) as connection:
                started, rows = time.monotonic(), self._selection.row_filter
                parts = await looking.peek(connection, spans, most=_PART, row_filter=rows)
                seconds = time.monotonic() - started
            read_to |= {partition: self._note(partition, spans[partition], part) for partition, part in parts.items()}
        self.sweeps.read(read_to, seconds=seconds)

    def _end(self, partition: int) -> int:
        """Up to where this partition is read: where claims begin, or where another worker's is helped with."""
        begin = self._front.begin(partition)
        return begin if partition in self._roster.own else min(begin, self._clock.now() - HELP_AFTER)

    def _note(self, partition: int, span: InstantRange, part: looking.WaitingRange) -> int | None:
        """Notes what was found in a part. Returns the mark from which to read on, if there may be more behind it."""
        is_one_instant = part.read_to == span.low  # which may have more rows than a part
        if not self._selection.is_partial:
            if part.first is None:
                return part.read_to
            self.expected(partition, part.first)
            return None
        if part.first is not None or is_one_instant:
            first = span.low if part.first is None else part.first
            self.found[partition] = InstantRange(first, span.until if part.read_to is None else part.read_to)
        return span.low + 1 if is_one_instant else part.read_to

    def shares(self, room: int, *, batch: int) -> tuple[list[Share], int]:
        """What to claim of that next, the earliest first, and up to which instant: the end of the part that ends first,
        and a moment further."""
        self._keep_open()
        until = min((span.until for span in self.found.values()), default=LONG_AGO)
        room = min(batch, max(room, _SMALLEST_BATCH))
        found = sorted((span.low, partition) for partition, span in self.found.items() if span.low <= until)[:room]
        return [Share(partition, low, room // len(found)) for low, partition in found], until + _MARGIN

    def _keep_open(self) -> None:
        """Forgets what was found in partitions that may not be claimed from any more."""
        self.found = {partition: span for partition, span in self.found.items() if partition in self._roster.open}

    def claimed(self, shares: list[Share], answer: Claimed) -> None:
        """Takes the answer to a claim of these shares. Where one was taken whole there may be more."""
        taken = defaultdict[int, list[int]](list)
        for row in answer.taken:
            taken[row.partition].append(row.fire_at)
        for partition, _, batch in shares:
            if partition not in self.found:
                continue
            span, instants = self.found.pop(partition), taken[partition]
            if len(instants) == batch and max(instants) <= span.until:  # a claim reaches a moment further
                self.found[partition] = span._replace(low=max(instants))
        if not self.found:
            self.wake()
