"""What a worker knows of its partitions: where the next waiting row stands, from where to read, and so from which
partitions to claim now.

Reading begins at ``low``, not at the left edge of the index: rows that were settled leave dead entries there, and while
an old snapshot is held open nothing can clear them away. ``low`` is a hint. A row that comes in behind it is announced
by its notification; one whose notification was silenced or lost is found by the rear (``rear``).
"""

import time
from collections.abc import Container, Iterable, Mapping

from pgsched.store.core.wire import FAR_OFF, LONG_AGO
from pgsched.store.live.executions import Claimed, Share
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.roster import Roster

# Microseconds behind the time of a look that are read again by the next: rows due at once were given their instant
# when their transaction began.
REREAD = 2_000_000
HELP_AFTER = 50_000
"""Microseconds overdue before another worker's partition is helped with."""
LATE = 100_000
"""Microseconds by which what a claim left is overdue where there is more than can be done."""
LOOK_AGAIN = 0.05
"""Seconds for which a look at the others' partitions counts."""
_AT_ONCE = 4
_MOST_PUT_OFF = 1_000


class Sight:
    """Instants are wire counts (microseconds since 2000-01-01 UTC)."""

    def __init__(self) -> None:
        self.due: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        # What was heard while a statement was under way, which may not have seen it: it outlives the answer.
        self._heard: dict[int, int] = {}
        self._forgot = False
        self.put_off: set[int] = set()
        """Instants until which rows were put off lately: these are to be claimed then, and not a moment later."""

    def hear(self, partition: int, instant: int) -> None:
        """Notes that a row for this instant stands in this partition."""
        self._heard[partition] = min(instant, self._heard.get(partition, instant))
        self._add({partition: instant})

    def forget(self) -> None:
        """Has everything read from the left edge, until the next look."""
        self._low.clear()
        self._forgot = True

    def reach_back(self, instant: int) -> None:
        """Has everything read from this instant on, until the next look."""
        for partition, low in self._low.items():
            self._low[partition] = min(low, instant)

    def keep(self, partitions: Container[int]) -> None:
        """Forgets the rows of all other partitions."""
        for known in (self.due, self._heard):
            for partition in [partition for partition in known if partition not in partitions]:
                del known[partition]

    def low(self, partition: int) -> int:
        return self._low.get(partition, LONG_AGO)

    def taken(self, partition: int) -> int:
        """How many rows the last claim found there."""
        return self._taken.get(partition, 0)

    def is_heard(self, partition: int, now: int) -> bool:
        """Whether a row was just announced there that is due."""
        return self._heard.get(partition, now + 1) <= now

    def asking(self) -> None:
        """Notes that a statement is sent whose answer will be given to ``seen`` or ``claimed``."""
        self._heard.clear()
        self._forgot = False

    def seen(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> bool:
        """Takes the answer to a look at these partitions from ``low`` on; one without a waiting row is not in ``due``.

        Returns False when everything was forgotten meanwhile, so that another look is needed.
        """
        for partition in partitions:
            self.due.pop(partition, None)
            self._put_low(partition, now - REREAD)
        self._add(due)
        self._add(self._heard)
        return not self._forgot

    def claimed(self, shares: Iterable[Share], answer: Claimed, *, all_kinds: bool = True) -> list[int]:
        """Takes the answer to a claim. Where a share was taken whole there may be more rows, and the next claim begins
        behind it, unless the claim was not for all kinds of rows and may have passed some over.

        Returns the other partitions, whose next row beyond the claim's look-ahead is not known now.
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
                self._put_low(partition, last[partition])
            else:
                self.due.pop(partition, None)
                emptied.append(partition)
        if len(answer.rows) < len(answer.taken):
            self._note_put_off(answer)
        self._add(answer.planned)
        self._add(self._heard)
        return emptied

    def _note_put_off(self, answer: Claimed) -> None:
        if len(self.put_off) > _MOST_PUT_OFF:
            self.put_off.clear()
        running = {row.id for row in answer.rows}
        self.put_off.update(row.start for row in answer.taken if row.id not in running)

    def seen_beyond(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """Takes the answer to a look at these partitions from beyond the claim that emptied them."""
        for partition in partitions:
            self._put_low(partition, min(max(self.low(partition), now - REREAD), self.due.get(partition, now)))
        self._add(due)
        self._add(self._heard)

    def _put_low(self, partition: int, instant: int) -> None:
        """Sets the mark, unless everything was forgotten after the statement was sent."""
        if not self._forgot:
            self._low[partition] = instant

    def _add(self, instants: Mapping[int, int]) -> None:
        for partition, instant in instants.items():
            self.due[partition] = min(instant, self.due.get(partition, instant))
            self._low[partition] = min(instant, self.low(partition))


class Wanted:
    """From which partitions to claim, by where ``sight`` sees rows. Claims look ``ahead`` by so many microseconds."""

    def __init__(self, sight: Sight, roster: Roster, clock: DatabaseClock, *, ahead: int) -> None:
        self._sight, self._roster, self._clock, self._ahead = sight, roster, clock, ahead

    def now(self, looked_at: float) -> list[int]:
        """The worker's own partitions with a row in sight; if there is none, the most overdue of the others, provided
        that the last look at them was a moment ago. The earliest comes first."""
        due, now = self._sight.due, self._clock.now()
        horizon = now + self._ahead
        own = [p for p in self._roster.own if due.get(p, horizon + 1) <= horizon]
        if own:
            return sorted(own, key=due.__getitem__)
        if time.monotonic() - looked_at > LOOK_AGAIN:
            return []
        overdue = now - HELP_AFTER
        others = [p for p in self._roster.open if due.get(p, overdue + 1) <= overdue]
        return sorted(others, key=due.__getitem__)[:_AT_ONCE]

    def is_left(self, partitions: Iterable[int]) -> bool:
        """Whether something due is in sight in these partitions, after a claim from them."""
        now = self._clock.now()
        return any(self._sight.due.get(partition, FAR_OFF) <= now for partition in partitions)

    def is_late(self, partitions: Iterable[int]) -> bool:
        """Whether something is in sight there that has been due for so long that there is more than can be done."""
        late = self._clock.now() - LATE
        return any(self._sight.due.get(partition, FAR_OFF) <= late for partition in partitions)

    def gathering_pause(self, partition: int, claimed_at: float) -> float:
        """Seconds for which rows that are not due soon may gather before they are claimed together; the last claim was
        at that monotonic moment."""
        if self._sight.due[partition] - self._ahead in self._sight.put_off:
            return 0.0
        slack = self._sight.due[partition] - self._clock.now() - self._ahead // 4
        since = time.monotonic() - claimed_at
        return min(slack / 1e6, self._ahead / 2e6 - since) if slack > 0 else 0.0

    def until_own(self) -> float | None:
        """Seconds until a claim can reach a row of its own partitions; None where none is in sight."""
        own = [self._sight.due[p] for p in self._roster.own if p in self._sight.due]
        return (min(own) - self._ahead - self._clock.now()) / 1e6 if own else None

    def until_help(self) -> float | None:
        """Seconds until it helps with a row of another worker's partition; None where none is in sight."""
        theirs = [self._sight.due[p] for p in self._roster.open if p in self._sight.due and p not in self._roster.own]
        return (min(theirs) + HELP_AFTER - self._clock.now()) / 1e6 if theirs else None
