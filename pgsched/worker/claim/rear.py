"""The rear: reads and claims rows that stand behind the front while claims pass a client's rows over.

To pass over a row is to read it. A client whose gate holds it back may have a million due rows, and a claim that read
past all of them would keep every other client waiting. So while the worker passes a client over, claims begin no more
than a moment before the present: at the front (``selection``). The rear reads in parts what stands further back, and
claims what other clients have there.
"""

import time
from datetime import timedelta

from pgsched.service import Signal
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import looking
from pgsched.store.live.executions import Share
from pgsched.store.live.row_filter import RowFilter
from pgsched.worker.claim.claiming import Claiming
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.leases import Leases
from pgsched.worker.claim.selection import Selection
from pgsched.worker.gates.admission import Admission
from pgsched.worker.run.dispatcher import Dispatcher

_PART = 4_000  # rows that are read at once
_READING_ONE_IN, _SWEEPING_ONE_IN = 10, 40
_SMALLEST_BATCH = 16
_NO_ROOM, _NOTHING_TO_DO = 0.005, 10.0


class Rear(Claiming):
    """Reads the partitions whose marks it was given, in turn, up to the present. Marks are instants (wire counts).

    ``expected`` names the partition and instant of each row that a claim has planned.
    """

    name = "rear"

    def __init__(
        self,
        leases: Leases,
        dispatcher: Dispatcher,
        *,
        batch: int,
        admission: Admission,
        fairness: Fairness,
        selection: Selection,
    ) -> None:
        super().__init__(leases, dispatcher)
        self._batch, self._admission, self._fairness = batch, admission, fairness
        self.expected: Signal[[int, int]] = Signal()
        self._selection = selection
        self._marks: dict[int, int] = {}
        self._swept_at, self._seconds = float("-inf"), 0.0

    def sweep(self) -> None:
        """Has all its partitions read from the left edge, unless that is under way or would take too much of the
        time."""
        if not self._marks and time.monotonic() - self._swept_at > _SWEEPING_ONE_IN * self._seconds:
            self._marks = dict.fromkeys(self._roster.own, LONG_AGO)
            self._swept_at, self._seconds = time.monotonic(), 0.0
            self.wake()

    def read_from(self, partition: int, mark: int) -> None:
        """Has this partition read from this instant on."""
        if partition not in self._marks:
            self.wake()
        self._marks[partition] = min(mark, self._marks.get(partition, mark))

    async def turn(self) -> float:
        await self.leases.give_back()
        is_wanted, own = self._selection.is_partial, self._roster.own
        self._marks = {partition: mark for partition, mark in self._marks.items() if is_wanted and partition in own}
        if not self._marks:
            return _NOTHING_TO_DO
        if not self._dispatcher.free:
            return _NO_ROOM
        return await self._read(*next(iter(self._marks.items())), self._selection.row_filter)

    async def _read(self, partition: int, mark: int, row_filter: RowFilter) -> float:
        """Reads a part and claims the rows in it that are not passed over. Returns the seconds until the next part."""
        del self._marks[partition]  # what is to be read from another mark meanwhile counts
        started, now, connection = time.monotonic(), self._clock.now(), await self._link.get()
        first, read_to = await looking.peek(connection, partition, mark, until=now, most=_PART, row_filter=row_filter)
        seconds = time.monotonic() - started
        self._seconds += seconds
        pause = (_READING_ONE_IN - 1) * seconds
        is_one_instant = read_to == mark  # which may have more than a part
        if first is not None or is_one_instant:
            share = Share(partition, mark if first is None else first, self._room)
            last = await self._claim(share, (now if read_to is None else read_to) - now, row_filter)
            if last is not None:
                read_to, pause = last, 0.0
            elif read_to is not None and is_one_instant:
                read_to += 1
        if read_to is not None:
            self._marks[partition] = min(read_to, self._marks.get(partition, read_to))  # behind the others
        return pause

    @property
    def _room(self) -> int:
        return min(self._batch, max(self._dispatcher.free, _SMALLEST_BATCH))

    async def _claim(self, share: Share, ahead: int, row_filter: RowFilter) -> int | None:
        """Claims and submits. Returns where the last row stands if there may be more."""
        now = self._clock.now()
        answer = await self.leases.claim(
            [share], timedelta(microseconds=ahead), admit=self._admission.admit, row_filter=row_filter
        )
        self._dispatcher.submit(answer.rows, answer.sure_until)
        for partition, instant in answer.planned.items():
            self.expected(partition, instant)
        if len(answer.taken) < share.batch:
            return None
        self._fairness.observe(answer.taken, share.batch, now)
        return max(row.fire_at for row in answer.taken)
