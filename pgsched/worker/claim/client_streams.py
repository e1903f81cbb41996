"""Streams: parts of the due rows that are claimed separately, each with its own marks.

By default, all rows are one stream. A client with a backlog gets its own stream (``fairness``).

A stream is read by instant, and while claims keep up, priorities have no effect. When claims are late, a claim by
priority goes first. It takes rows with a priority above 0, highest first. If rows with a priority below 0 were seen
lately, it then takes the rows with a priority of at least 0. One row in four is still claimed by instant, whatever its
priority, so that no row starves. Each stream is ordered separately: a client's priorities order only its own rows, and
take nothing from another client's share.
"""

import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import RowFilter

_PARTITIONS = 4  # maximum number of partitions that a claim from a single client's stream reads
_FROM_THE_EDGE = 10.0  # seconds after which marks are dropped, so that rows before the marks are found
_BY_INSTANT = 1 / 3  # rows claimed by instant for each row claimed by priority
_LOOK_AGAIN, _ONE_IN = 0.25, 20  # pause after a search that finds no priorities: seconds, or searches' durations
_REMEMBERED = 10.0
_LONG = 0.1  # seconds that a turn may take
_FEWEST, _MOST = 250, 1 << 16  # limits for the number of rows in a turn
_BELOW = b'"priority": -'

Ask = Callable[[Sequence[PartitionShare], RowFilter], Awaitable[Claimed]]
"""Makes a claim and hands its rows to the dispatcher."""
Divide = Callable[[Collection[int], int], Mapping[int, int]]
"""Divides the room among queues, by number."""


def spread(partitions: Sequence[int], room: int, *, batch: int, low: Callable[[int], int]) -> list[PartitionShare]:
    """Divides the room equally among partitions, in random order so that each gets its turn even if room is scarce."""
    count = min(len(partitions), room)
    chosen = random.sample(partitions, k=count)
    return [PartitionShare(partition, low(partition), min(batch, room // count)) for partition in chosen]


class Stream:
    """The due rows of one client or, if ``client`` is empty, of all clients without their own stream.

    ``deficit`` is the room that the stream is owed.
    """

    def __init__(self, client: str = "", *, divide: Divide | None = None) -> None:
        self.client, self._divide = client, divide
        self.deficit = 0.0
        self._marks, self._ordinary = dict[int, int](), dict[int, int]()
        self._marked_at = time.monotonic()
        self._turn, self._owed = 0, 0.0
        self._look_at = self._counts_until = self._seen_below_until = float("-inf")

    @property
    def has_priorities(self) -> bool:
        """Whether rows with a priority other than 0 were seen lately."""
        return time.monotonic() < max(self._counts_until, self._seen_below_until)

    async def claim(
        self, ask: Ask, partitions: Sequence[int], room: int, rows: RowFilter, *, batch: int
    ) -> tuple[int, int]:
        """Claims by priority, and then by instant from the stream's own marks, at most ``batch`` rows per partition.
        Returns the number of rows asked for, and the number taken."""
        first = asked = await self.claim_by_priority(ask, partitions, room, rows)
        if room <= first:
            return asked, first
        shares, taken = await self._claim_from(self._marks, ask, partitions, room - first, rows, batch)
        wanted = sum(share.batch for share in shares)
        self.went_by_instant(taken, asked=wanted)
        return asked + wanted, first + len(taken)

    async def claim_by_priority(self, ask: Ask, partitions: Sequence[int], room: int, rows: RowFilter) -> int:
        """Claims rows by priority, in the room that is not owed to claims by instant. Returns the number of rows."""
        free = room - min(int(self._owed), room)
        count = 0
        if free and time.monotonic() >= self._look_at:
            count = await self._claim_first(ask, partitions, free, rows)
        if free > count and time.monotonic() < self._seen_below_until:
            rows = replace(rows, ordinary=True)
            _, taken = await self._claim_from(self._ordinary, ask, partitions, free - count, rows, room)
            count += len(taken)
        self._owed += count * _BY_INSTANT
        return count

    def went_by_instant(self, taken: Sequence[ClaimedExecution], *, asked: int) -> None:
        """Records a claim by instant. ``asked`` is the number of rows asked for, and ``taken`` contains the rows that
        were claimed."""
        self._owed = max(self._owed - len(taken), 0.0) if len(taken) >= asked else 0.0
        if any(row.options and _BELOW in row.options for row in taken):
            self._seen_below_until = time.monotonic() + _REMEMBERED

    async def _claim_first(self, ask: Ask, partitions: Sequence[int], room: int, rows: RowFilter) -> int:
        started = time.monotonic()
        queues = {queue_of(partition) for partition in partitions}
        rooms = self._divide(queues, room) if self._divide and len(queues) > 1 else dict.fromkeys(queues, room)
        shares = [PartitionShare(partition, LONG_AGO, rooms[queue_of(partition)]) for partition in partitions]
        count = len((await ask(shares, replace(rows, first=True))).taken)
        now = time.monotonic()
        if count:
            self._counts_until = now + _REMEMBERED
        else:
            self._look_at = now + max(_LOOK_AGAIN, _ONE_IN * (now - started))
        return count

    async def _claim_from(
        self, marks: dict[int, int], ask: Ask, partitions: Sequence[int], room: int, rows: RowFilter, batch: int
    ) -> tuple[list[PartitionShare], list[ClaimedExecution]]:
        """Claims from the next few partitions, and marks how far each of them was read."""
        if time.monotonic() - self._marked_at > _FROM_THE_EDGE:
            self._marks.clear()
            self._ordinary.clear()
            self._marked_at = time.monotonic()
        first = self._turn % len(partitions)
        partitions = [*partitions[first:], *partitions[:first]][:_PARTITIONS]
        self._turn += len(partitions)
        shares = spread(partitions, room, batch=batch, low=lambda partition: marks.get(partition, LONG_AGO))
        taken = (await ask(shares, rows)).taken
        for row in taken:
            marks[row.partition] = max(row.fire_at, marks.get(row.partition, LONG_AGO))
        return shares, taken


class TurnBound:
    """Adapts the maximum number of rows that a turn claims (``most``), so that clients do not wait long for each
    other's claims.

    Turns can be long, because keys and gates are checked row by row, and the next rows of jobs are planned. The limit
    applies to all streams together, so that each stream keeps its share.
    """

    def __init__(self) -> None:
        self.most = 2 * _FEWEST

    def took(self, seconds: float, rows: int, *, of: int) -> None:
        """Records a turn's duration, the number of rows that it claimed, and the room that it had (``of``)."""
        if seconds > _LONG:
            self.most = max(min(self.most, rows) // 2, _FEWEST)
        elif seconds < _LONG / 2 and 2 * rows >= of:
            self.most = min(2 * self.most, _MOST)
