"""Tracks the next waiting row of each partition, to decide what to claim.

The information comes from looks, claims and notifications. A notification that arrives while a statement is in flight
overrides the statement's result, because the statement may not have seen the announced row.
"""

import time
from collections.abc import Container, Iterable, Mapping, Sequence

from pgsched.domain.queue_partitions import queue_of
from pgsched.store.core.wire import FAR_OFF, LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.client_streams import Divide
from pgsched.worker.clock import DatabaseClock

REREAD = 2_000_000
"""Microseconds that every look rereads. A row that is due at once has the instant at which its transaction began, but
becomes visible only when the transaction commits."""
HELP_AFTER = 50_000
"""Microseconds by which a row must be overdue before other workers help with its partition."""
LATE = 100_000
"""Microseconds. If a claim leaves rows that are overdue by more, the worker is overloaded."""
LOOK_AGAIN = 0.05
"""Seconds for which a look at other workers' partitions is valid."""
SMALLEST_SHARE = 16
_AT_ONCE = 4  # maximum number of other workers' partitions with which one claim helps


class Front:
    """Where claims by instant begin to read in each partition.

    A mark is the instant before which everything has been read. Settled rows leave dead index entries there, which stay
    as long as an old snapshot is open, so claims do not begin at the left edge of the index. A mark is only a hint: a
    row before the mark is announced by a notification, or found by the sweeper.

    While claims skip a client's due rows, they begin no earlier than ``moment_back``, because a row must be read to be
    skipped. Earlier rows are left to the sweeper.
    """

    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        self._marks: dict[int, int] = {}
        self._passed_over: set[str] = set()
        self._since = 0

    def low(self, partition: int) -> int:
        """Returns the mark of a partition."""
        return self._marks.get(partition, LONG_AGO)

    def put(self, partition: int, instant: int) -> None:
        self._marks[partition] = instant

    def lower(self, partition: int, instant: int) -> None:
        """Moves a partition's mark back to this instant if the mark is later."""
        self._marks[partition] = min(instant, self.low(partition))

    def reach_back(self, instant: int) -> None:
        """Moves all later marks back to this instant."""
        for partition in self._marks:
            self.lower(partition, instant)

    def clear(self) -> None:
        """Makes claims read every partition from the left edge."""
        self._marks.clear()

    def pass_over(self, clients: Iterable[str]) -> bool:
        """Sets the clients whose rows are skipped. Returns whether the rows of any client are no longer skipped. Such
        rows may be before the marks, so the partitions must be looked at again."""
        before, self._passed_over = self._passed_over, set(clients)
        if self._passed_over and not before:
            self._since = self._clock.now()
        if not before - self._passed_over:
            return False
        self.reach_back(self._since - REREAD)
        return True

    def begin(self, partition: int) -> int:
        """Returns where a claim begins to read."""
        low = self.low(partition)
        return max(low, self.moment_back) if self._passed_over else low

    def look_from(self, partition: int) -> int:
        """Returns where a look begins to read: at ``moment_back`` or earlier, even if claims have read further."""
        return min(self.begin(partition), self.moment_back)

    @property
    def moment_back(self) -> int:
        """The instant from which every look rereads, whatever the marks."""
        return self._clock.now() - REREAD


class EarliestDue:
    """The next waiting row of each partition. ``due`` maps each partition with a known row to the row's instant.
    ``front`` determines where to begin reading.

    ``ahead`` is the look-ahead of claims, in microseconds. Instants are microseconds since 2000-01-01 UTC.
    """

    def __init__(self, assignment: Assignment, clock: DatabaseClock, *, ahead: int) -> None:
        self._assignment, self._clock, self.ahead = assignment, clock, ahead
        self.front = Front(clock)
        self.due: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        self._heard: dict[int, int] = {}
        self._forgot = False
        self.looked_at = float("-inf")
        """The monotonic time at which all partitions were last looked at."""

    def hear(self, partition: int, instant: int) -> None:
        """Records that a row in this partition is due at this instant."""
        self._heard[partition] = min(instant, self._heard.get(partition, instant))
        self._add({partition: instant})

    def look_again(self) -> None:
        """Makes the next look due now."""
        self.looked_at = float("-inf")

    def forget(self) -> None:
        """Makes the next look due now. Until that look, claims read from the left edge."""
        self.front.clear()
        self._forgot = True
        self.look_again()

    def pass_over(self, clients: Iterable[str]) -> None:
        """Sets the clients whose due rows claims skip."""
        if self.front.pass_over(clients):
            self._forgot = True
            self.look_again()

    def keep(self, partitions: Container[int]) -> None:
        """Forgets the rows in all partitions except these."""
        for known in (self.due, self._heard):
            for partition in [partition for partition in known if partition not in partitions]:
                del known[partition]

    def is_heard(self, partition: int) -> bool:
        """Whether a notification has just announced a due row in this partition."""
        now = self._clock.now()
        return self._heard.get(partition, now + 1) <= now

    # Results of statements.

    def asking(self) -> None:
        """Must be called before each statement whose result is passed to one of the methods below."""
        self._heard.clear()
        self._forgot = False

    def seen(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """Records what a look at all partitions found. ``due`` omits partitions without a waiting row."""
        for partition in partitions:
            self.due.pop(partition, None)
            self._mark(partition, now - REREAD)
        self._add(due)
        self._add(self._heard)
        if not self._forgot:
            self.looked_at = time.monotonic()

    def seen_beyond(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """Records the next due instants in partitions that a claim emptied, found beyond the claim's look-ahead."""
        for partition in partitions:
            low = max(self.front.low(partition), now - REREAD)
            self._mark(partition, min(low, self.due.get(partition, now)))
        self._add(due)
        self._add(self._heard)

    def claimed(self, shares: Iterable[PartitionShare], answer: Claimed, *, all_kinds: bool = True) -> list[int]:
        """Records the result of a claim. If a share is full, its partition may have more rows. The next claim continues
        there, unless this claim skipped some kinds of rows (``all_kinds`` is False).

        Returns the partitions whose next row beyond the claim's look-ahead is now unknown.
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
        """Sets the mark, unless ``forget`` was called after the statement was sent."""
        if not self._forgot:
            self.front.put(partition, instant)

    def _add(self, instants: Mapping[int, int]) -> None:
        for partition, instant in instants.items():
            self.due[partition] = min(instant, self.due.get(partition, instant))
            self.front.lower(partition, instant)

    # What to claim, and when.

    def wanted(self) -> list[int]:
        """Returns the partitions to claim from now, earliest first: the worker's own partitions with a row within the
        look-ahead. If there are none and the last look is recent, returns the most overdue of other workers'
        partitions.
        """
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
        """Divides the room among these partitions, in order. Apart from a minimum, each share is at most twice the
        number of rows that the last claim took from the partition. ``divide`` divides the room among queues."""
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
        """Whether a known row in these partitions is overdue by at least ``late`` microseconds."""
        since = self._clock.now() - late
        return any(self.due.get(partition, FAR_OFF) <= since for partition in partitions)

    def gathering_pause(self, partition: int, claimed_at: float) -> float:
        """Seconds to wait so that more rows can be claimed together, or 0 if the partition's next row is due soon. The
        last claim was made at ``claimed_at`` (monotonic)."""
        slack = self.due[partition] - self._clock.now() - self.ahead // 4
        since = time.monotonic() - claimed_at
        return min(slack / 1e6, self.ahead / 2e6 - since) if slack > 0 else 0.0

    def until_own(self) -> float | None:
        """Seconds until a row in the worker's own partitions can be claimed, or None if no row is known there."""
        own = [self.due[p] for p in self._assignment.own if p in self.due]
        return (min(own) - self.ahead - self._clock.now()) / 1e6 if own else None

    def until_help(self) -> float | None:
        """Seconds until the worker helps with a row in another worker's partition, or None if no row is known there."""
        theirs = [self.due[p] for p in self._assignment.open if p in self.due and p not in self._assignment.own]
        return (min(theirs) + HELP_AFTER - self._clock.now()) / 1e6 if theirs else None
