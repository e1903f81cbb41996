"""Which due rows go first by their priority, when there is more due than can be done.

Claims read in the order of instants. While what they find is on time, nothing waits and priority means nothing. Once it
is late, a claim by priority comes before each claim by instant: it takes rows of a priority above 0, those of the
highest first. If rows below 0 have been seen, it goes on with all others, so that those come last.

One row in four goes by its instant, whatever its priority: what came first is never kept waiting for good by what comes
in above it. Each client that is claimed from apart has an order of its own, so that a client's priorities count among
its rows and take nothing from another's share.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.partitions import queue_of
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.row_filter import RowFilter
from pgsched.worker.claim.marks import Marks

_BY_INSTANT = 1 / 3  # for each row that went by its priority
_LOOK_AGAIN, _ONE_IN = 0.25, 20  # seconds after nothing was found, and how much of the time that may take
_REMEMBERED = 10.0
_BELOW = b'"priority": -'

Ask = Callable[[Sequence[Share], RowFilter], Awaitable[Claimed]]
Divide = Callable[[Collection[int], int], Mapping[int, int]]
"""How queues, by their numbers, share the room."""


class Precedence:
    """Claims by priority, and remembers what is owed to the order of instants."""

    def __init__(self, divide: Divide | None = None) -> None:
        self._divide = divide
        self._owed = 0.0
        self._look_at = self._counts_until = self._seen_below_until = float("-inf")
        self._marks = Marks()

    @property
    def counts(self) -> bool:
        """Whether there was something lately that went first or last by its priority."""
        return time.monotonic() < max(self._counts_until, self._seen_below_until)

    async def claim(self, ask: Ask, partitions: Sequence[int], room: int, row_filter: RowFilter) -> int:
        """Claims what goes before the rest, into as much of the room as is its due. Returns how many rows."""
        free = room - min(int(self._owed), room)
        count = 0
        if free and time.monotonic() >= self._look_at:
            count = await self._claim_first(ask, partitions, free, row_filter)
        if free > count and time.monotonic() < self._seen_below_until:
            count += await self._claim_ordinary(ask, partitions, free - count, row_filter)
        self._owed += count * _BY_INSTANT
        return count

    def went_by_instant(self, taken: Sequence[ClaimedExecution], *, asked: int) -> None:
        """Notes what a claim by instant took of the rows that it asked for."""
        self._owed = max(self._owed - len(taken), 0.0) if len(taken) >= asked else 0.0
        if any(row.options and _BELOW in row.options for row in taken):
            self._seen_below_until = time.monotonic() + _REMEMBERED

    async def _claim_first(self, ask: Ask, partitions: Sequence[int], room: int, row_filter: RowFilter) -> int:
        started = time.monotonic()
        queues = {queue_of(partition) for partition in partitions}
        rooms = self._divide(queues, room) if self._divide and len(queues) > 1 else dict.fromkeys(queues, room)
        shares = [Share(partition, LONG_AGO, rooms[queue_of(partition)]) for partition in partitions]
        count = len((await ask(shares, replace(row_filter, first=True))).taken)
        now = time.monotonic()
        if count:
            self._counts_until = now + _REMEMBERED
        else:
            self._look_at = now + max(_LOOK_AGAIN, _ONE_IN * (now - started))
        return count

    async def _claim_ordinary(self, ask: Ask, partitions: Sequence[int], room: int, row_filter: RowFilter) -> int:
        shares = self._marks.shares(partitions, room, room)
        answer = await ask(shares, replace(row_filter, ordinary=True))
        self._marks.read_to(shares, answer.taken)
        return len(answer.taken)
