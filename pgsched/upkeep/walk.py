"""Takes leased rows back from some partitions, a part at a time, so that a large backlog does not delay others."""

import time
from collections.abc import Iterable, Sequence

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.parking import SetAside
from pgsched.store.live.reaping import ReapRange, reap_others


class Walk:
    """Reads the due rows of partitions once, in the order of their instants, and takes back what it can.

    It takes back the rows that these owners have leased, and those whose lease had run out by a given time.
    """

    def __init__(self, owners: Sequence[int], partitions: Iterable[int], *, ended_by: float, depth: int) -> None:
        self.owners, self.partitions, self.ended_by = list(owners), list(partitions), ended_by
        self.returned = self.failed = 0
        self.parked: list[SetAside] = []
        self._depth = depth
        self._marks = dict.fromkeys(self.partitions, LONG_AGO)

    @property
    def is_over(self) -> bool:
        return not self._marks

    async def go_on(self, connection: Connection, seconds: float) -> None:
        """Reads on for about this many seconds."""
        until = time.monotonic() + seconds
        while self._marks and time.monotonic() < until:
            partition, low = next(iter(self._marks.items()))
            part = ReapRange(partition, low, self._depth)
            reaped, parked = await reap_others(connection, part, self.owners, ended_by=self.ended_by)
            self.returned, self.failed = self.returned + reaped.returned, self.failed + reaped.failed
            self.parked += parked
            if reaped.read_to is None:
                del self._marks[partition]
            else:
                self._marks[partition] = reaped.read_to
