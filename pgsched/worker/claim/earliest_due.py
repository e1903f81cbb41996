"""Tracks the next waiting row of each partition, which decides what to claim now.

The information comes from looks, claims and notifications. A notification that arrives while a statement is in flight
is kept when the answer comes, because the statement may not have seen the row.
"""

import time
from collections.abc import Container, Iterable, Mapping, Sequence

from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.wire import FAR_OFF, LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.streams import Divide
from pgsched.worker.clock import DatabaseClock

REREAD = 2_000_000
"""Microseconds that every look reads again: a row that is due at once has the instant at which its transaction began,
but becomes visible when it commits."""
HELP_AFTER = 50_000
"""Microseconds by which a row is overdue before other workers help with its partition."""
LATE = 100_000
"""Microseconds; if a claim leaves rows that are overdue by this much, the worker is overloaded."""
LOOK_AGAIN = 0.05
"""Seconds for which a look at other workers' partitions is valid."""
SMALLEST_SHARE = 16
_AT_ONCE = 4  # partitions of other workers that one claim helps with


class Front:
    """Where claims by instant begin to read in each partition.

    A mark is the instant before which everything has been read. Settled rows leave dead index entries there, which stay
    as long as an old snapshot is open, so claims do not begin at the left edge. A mark is a hint: a row behind it is
    announced by a notification, or found by the sweeper.

    While claims skip a client's due rows, they begin no earlier than ``moment_back``, because skipping a row means
    reading it. Earlier rows are left to the sweeper.
    """

    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        self._marks: dict[int, int] = {}
        self._passed_over: set[str] = set()
        self._since = 0

    def low(self, partition: int) -> int:
        """The mark of a partition."""
        return self._marks.get(partition, LONG_AGO)

    def put(self, partition: int, instant: int) -> None:
        self._marks[partition] = instant

    def lower(self, partition: int, instant: int) -> None:
        """Moves a mark back to this instant, if it is later."""
        self._marks[partition] = min(instant, self.low(partition))

    def reach_back(self, instant: int) -> None:
        """Moves later marks back to this instant."""
        for partition in self._marks:
            self.lower(partition, instant)

    def clear(self) -> None:
        """Makes claims read every partition from the left edge."""
        self._marks.clear()

    def pass_over(self, clients: Iterable[str]) -> bool:
        """Sets which clients are skipped. Returns whether one no longer is: its rows may be behind the marks, so the
        partitions must be looked at again."""
        before, self._passed_over = self._passed_over, set(clients)
        if self._passed_over and not before:
            self._since = self._clock.now()
        if not before - self._passed_over:
            return False
        self.reach_back(self._since - REREAD)
        return True

    def begin(self, partition: int) -> int:
        """Where a claim begins."""
        low = self.low(partition)
        return max(low, self.moment_back) if self._passed_over else low

    def look_from(self, partition: int) -> int:
        """Where a look begins: no later than ``moment_back``, although claims look ahead and may have read further."""
        return min(self.begin(partition), self.moment_back)

    @property
    def moment_back(self) -> int:
        """The instant from which every look reads again."""
        return self._clock.now() - REREAD


class EarliestDue:
    """Instants and ``ahead``, the look-ahead of claims, are in microseconds; instants are since 2000-01-01 UTC.

    ``due`` has the instant of each partition's next waiting row, if one is known. ``front`` says where to begin.
    """

    def __init__(self, assignment: Assignment, clock: DatabaseClock, *, ahead: int) -> None:
        self._assignment, self._clock, self.ahead = assignment, clock, ahead
        self.front = Front(clock)
        self.due: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._heard: dict[int, int] = {}
        self._forgot = False
        self.looked_at = float("-inf")
        """When all partitions were last looked at (monotonic)."""

    def hear(self, partition: int, instant: int) -> None:
        """Notes a row in this partition, due at this instant."""
        self._heard[partition] = min(instant, self._heard.get(partition, instant))
        self._add({partition: instant})

    def look_again(self) -> None:
        """Makes the next look due now."""
        self.looked_at = float("-inf")

    def forget(self) -> None:
        """Makes the next look due now, and claims until then read from the left edge."""
        self.front.clear()
        self._forgot = True
        self.look_again()

    def pass_over(self, clients: Iterable[str]) -> None:
        """Sets which clients' due rows claims skip."""
        if self.front.pass_over(clients):
            self._forgot = True
            self.look_again()

    def keep(self, partitions: Container[int]) -> None:
        """Forgets the rows of other partitions."""
        for known in (self.due, self._heard):
            for partition in [partition for partition in known if partition not in partitions]:
                del known[partition]

    def is_heard(self, partition: int) -> bool:
        """Whether a notification has just announced a due row in this partition."""
        now = self._clock.now()
        return self._heard.get(partition, now + 1) <= now

    # Results of statements.

    def asking(self) -> None:
        """Notes that a statement is sent. Its answer is passed to one of the methods below."""
        self._heard.clear()
        self._forgot = False

    def seen(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """Takes the answer to a look at all partitions. Partitions without a waiting row are not in ``due``."""
        for partition in partitions:
            self.due.pop(partition, None)
            self._mark(partition, now - REREAD)
        self._add(due)
        self._add(self._heard)
        if not self._forgot:
            self.looked_at = time.monotonic()

    def seen_beyond(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """Takes the answer to a look at these partitions beyond the look-ahead of the claim that emptied them."""
        for partition in partitions:
            low = max(self.front.low(partition), now - REREAD)
            self._mark(partition, min(low, self.due.get(partition, now)))
        self._add(due)
        self._add(self._heard)

    def claimed(self, shares: Iterable[PartitionShare], answer: Claimed, *, all_kinds: bool = True) -> list[int]:
        """Takes the answer to a claim. If a share is full, there may be more rows, and the next claim begins after it;
        but not if the claim skipped some kinds of rows (``all_kinds``).

        Returns the other partitions. Their next row beyond the claim's look-ahead is unknown.
        """
        taken: dict[int, int] = {}
        last: dict[int, int] = {}
        for row in answer.taken:
            partition = row.partition
            taken[partition] = taken.get(partition, 0) + 1
            if row.fire_at > last.get(partition, LONG_AGO):
                last[partition] = row.fire_at
        emptied = []
        for partition, _, batch in shares:
            self._taken[partition] = taken.get(partition, 0)
            if all_kinds and self._taken[partition] == batch:
                self.due[partition] = last[partition]
                self._mark(partition, last[partition])
            else:
                self.due.pop(partition, None)
                emptied.append(partition)
        self._add(answer.planned)
        self._add(self._heard)
        return emptied

    def _mark(self, partition: int, instant: int) -> None:
        """Sets the mark, unless everything was forgotten after the statement was sent."""
        if not self._forgot:
            self.front.put(partition, instant)

    def _add(self, instants: Mapping[int, int]) -> None:
        for partition, instant in instants.items():
            self.due[partition] = min(instant, self.due.get(partition, instant))
            self.front.lower(partition, instant)

    # What to claim, and when.

    def wanted(self) -> list[int]:
        """The partitions to claim from now, earliest first: the worker's own with a row within the look-ahead; if there
        are none, the most overdue of the others, provided that the last look is recent."""
        due, now = self.due, self._clock.now()
        until = now + self.ahead
        own = [p for p in self._assignment.own if due.get(p, until + 1) <= until]
        if own:
            return sorted(own, key=due.__getitem__)
        if time.monotonic() - self.looked_at > LOOK_AGAIN:
            return []
        overdue = now - HELP_AFTER
        others = [p for p in self._assignment.open if due.get(p, overdue + 1) <= overdue]
        return sorted(others, key=due.__getitem__)[:_AT_ONCE]

    def shares(self, wanted: Sequence[int], room: int, *, batch: int, divide: Divide) -> list[PartitionShare]:
        """Shares of the room for these partitions, in order. Each is at most twice what the last claim took there.
        ``divide`` divides the room among queues."""
        shares = []
        queues = {queue_of(partition) for partition in wanted}
        rooms = dict(divide(queues, room)) if len(queues) > 1 else dict.fromkeys(queues, room)
        for partition in wanted:
            left = rooms[queue_of(partition)]
            most = min(batch, left, max(SMALLEST_SHARE, 2 * self._taken.get(partition, 0)))
            if most > 0:
                shares.append(PartitionShare(partition, self.front.begin(partition), most))
                rooms[queue_of(partition)] -= most
        return shares

    def is_due(self, partitions: Iterable[int], *, late: int = 0) -> bool:
        """Whether a known row there is overdue by at least ``late`` microseconds."""
        since = self._clock.now() - late
        return any(self.due.get(partition, FAR_OFF) <= since for partition in partitions)

    def gathering_pause(self, partition: int, claimed_at: float) -> float:
        """Seconds to wait for more rows that can be claimed together, if none is due soon. ``claimed_at`` is the
        monotonic time of the last claim."""
        slack = self.due[partition] - self._clock.now() - self.ahead // 4
        since = time.monotonic() - claimed_at
        return min(slack / 1e6, self.ahead / 2e6 - since) if slack > 0 else 0.0

    def until_own(self) -> float | None:
        """Seconds until a claim reaches a row in the worker's own partitions; None if none is known."""
        own = [self.due[p] for p in self._assignment.own if p in self.due]
        return (min(own) - self.ahead - self._clock.now()) / 1e6 if own else None

    def until_help(self) -> float | None:
        """Seconds until the worker helps with a row in another's partition; None if none is known."""
        theirs = [self.due[p] for p in self._assignment.open if p in self.due and p not in self._assignment.own]
        return (min(theirs) + HELP_AFTER - self._clock.now()) / 1e6 if theirs else None
