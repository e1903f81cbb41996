"""Which due rows a worker's claims read, and from where.

Gates hold some clients back, some clients are claimed from apart, and some targets only other workers can deliver, or
none. While claims pass over a client's rows they read the front only, and ``rear`` reads what they leave behind.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pgsched.domain.partitions import queue_of
from pgsched.service import Signal
from pgsched.store.live.executions import Share
from pgsched.store.live.row_filter import ALL_ROWS, RowFilter
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.precedence import Divide
from pgsched.worker.claim.sight import REREAD, Sight
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.gates.admission import Admission
from pgsched.worker.gates.capabilities import Capabilities
from pgsched.worker.roster import Roster
from pgsched.worker.run.shares import Shares

SMALLEST_SHARE = 16


class Selection:
    """Answers for the next claim or look, as things stand at that moment."""

    def __init__(self, admission: Admission, fairness: Fairness, capabilities: Capabilities, shares: Shares) -> None:
        self._admission, self._fairness, self._capabilities = admission, fairness, capabilities
        self._shares = shares

    @property
    def is_ready(self) -> bool:
        """Whether the settings of clients, the gates and the capabilities of others have been loaded."""
        return self._fairness.known.loaded and self._admission.book.loaded and self._capabilities.known

    @property
    def held(self) -> tuple[str, ...]:
        """The clients whose due rows claims pass over, because their gates hold executions back."""
        return self._admission.clients_held if self._admission.holding else ()

    @property
    def row_filter(self) -> RowFilter:
        """The rows of all clients that are not claimed from apart and do not have too many rows waiting here, without
        those that a gate would hold."""
        held, apart = self.held, tuple(self._fairness.apart)
        if self._shares.crowded:
            apart = tuple({*apart, *self._shares.crowded})
        left, missed = self._capabilities.left, self._capabilities.missed
        if not (held or apart or left or missed):
            return ALL_ROWS
        return RowFilter(held=held, apart=apart, left=left, missed=missed)

    @property
    def latest(self) -> RowFilter:
        """The same rows as ``row_filter``, but those that became due last come first."""
        return replace(self.row_filter, latest_first=True)

    def only(self, client: str) -> RowFilter:
        """The rows of one client."""
        return RowFilter(only=client, left=self._capabilities.left, missed=self._capabilities.missed)

    @property
    def is_partial(self) -> bool:
        """Whether claims read past some due rows."""
        return bool(self.held or self._capabilities.left or self._capabilities.missed)

    @property
    def passed_over(self) -> frozenset[str]:
        """The clients and capabilities whose due rows claims read past until they are held; there may be any number."""
        return frozenset((*self.held, *self._capabilities.missed))


class Front:
    """Where claims begin: at the low mark, but no further than a moment back while a client is passed over. Then
    ``left_behind`` is called with each partition and the mark from which its rows are left behind."""

    def __init__(self, sight: Sight, roster: Roster, clock: DatabaseClock) -> None:
        self._sight, self._roster, self._clock = sight, roster, clock
        self.left_behind: Signal[[int, int]] = Signal()
        self._passed_over: set[str] = set()
        self._since = 0
        self._has_left = False

    def pass_over(self, clients: Iterable[str]) -> bool:
        """Makes claims pass these clients over, and no others. Returns whether rows of other clients may stand before
        the low marks now, so that the worker must look at its partitions again."""
        before, self._passed_over = self._passed_over, set(clients)
        if self._passed_over and not before:
            self._since, self._has_left = self._clock.now(), False
        if not before - self._passed_over:
            return False
        if self._has_left:
            self._sight.forget()
        else:
            self._sight.reach_back(self._since - REREAD)
        return True

    def low(self, partition: int) -> int:
        """Where claims begin (wire count)."""
        low = self._sight.low(partition)
        return max(low, self._clock.now() - REREAD) if self._passed_over else low

    def _begin(self, partition: int) -> int:
        """The same for a claim that is made now."""
        low, begin = self._sight.low(partition), self.low(partition)
        if low < begin:
            self._has_left = True
            if partition in self._roster.own:
                self.left_behind(partition, low)
        return begin

    def shares(self, wanted: Sequence[int], free: int, *, batch: int, divide: Divide) -> list[Share]:
        """Shares of the room for these partitions, the first of them first; ``divide`` says what each queue has."""
        shares = []
        queues = {queue_of(partition) for partition in wanted}
        rooms = dict(divide(queues, free)) if len(queues) > 1 else dict.fromkeys(queues, free)
        for partition in wanted:
            room = rooms[queue_of(partition)]
            most = min(batch, room, max(SMALLEST_SHARE, 2 * self._sight.taken(partition)))
            if most > 0:
                shares.append(Share(partition, self._begin(partition), most))
                rooms[queue_of(partition)] -= most
        return shares

    def even(self, room: int, batch: int) -> list[Share]:
        """Shares of the room for all partitions, in random order, so that with little room each has its turn, too."""
        chosen, each = _divided(self._roster.open, room)
        return [Share(partition, self._begin(partition), min(batch, each)) for partition in chosen]

    def latest(self, room: int, batch: int) -> list[Share]:
        """Shares for rows that became due within the last moment, in this worker's own partitions."""
        chosen, each = _divided(self._roster.own or self._roster.open, room)
        moment_back = self._clock.now() - REREAD
        return [Share(partition, moment_back, min(batch, each)) for partition in chosen]

    def look_from(self, partition: int) -> int:
        """Where a look begins: no later than a moment back, even if a claim that looked ahead read further."""
        return min(self.low(partition), self._clock.now() - REREAD)


def _divided(partitions: Sequence[int], room: int) -> tuple[list[int], int]:
    """Partitions in random order, no more than there is room for, and the room that each has."""
    chosen = random.sample(partitions, k=len(partitions))[:room]
    return chosen, room // len(chosen) if chosen else 0
