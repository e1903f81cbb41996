"""What a worker knows of its partitions: where the next waiting row stands, and from where to read.

Reading begins at ``low``, not at the left edge of the index: rows that were settled leave dead entries there, and while
an old snapshot is held open nothing can clear them away. ``low`` is a hint. A row that comes in behind it is announced
by its notification; one whose notification was silenced or lost is found by the sweep.
"""

from collections.abc import Iterable, Mapping

from pgsched.store.executions import Claimed, Share
from pgsched.store.wire import LONG_AGO

# Microseconds behind the time of a look that are read again by the next: rows due at once were given their instant
# when their transaction began.
_REREAD = 2_000_000


class Sight:
    """Instants are wire counts (microseconds since 2000-01-01 UTC)."""

    def __init__(self) -> None:
        self.due: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._taken: dict[int, int] = {}
        # What was heard while a statement was under way, which may not have seen it: it outlives the answer.
        self._heard: dict[int, int] = {}

    def hear(self, partition: int, instant: int) -> None:
        """A row for this instant stands in this partition."""
        for due in (self.due, self._heard):
            if instant < due.get(partition, instant + 1):
                due[partition] = instant
        if instant < self._low.get(partition, LONG_AGO):
            self._low[partition] = instant

    def forget(self) -> None:
        """From now on everything is read from the left edge, until the next look."""
        self._low.clear()

    def low(self, partition: int) -> int:
        return self._low.get(partition, LONG_AGO)

    def taken(self, partition: int) -> int:
        """How many rows the last claim found there."""
        return self._taken.get(partition, 0)

    def asking(self) -> None:
        """A statement is on its way whose answer comes to ``seen`` or ``claimed``."""
        self._heard.clear()

    def seen(self, partitions: Iterable[int], due: Mapping[int, int], now: int) -> None:
        """The answer to a look at these partitions from ``low`` on; one without a waiting row is not in ``due``."""
        for partition in partitions:
            self._put(partition, due.get(partition))
            self._low[partition] = min(due.get(partition, now), now - _REREAD)
        self._recall()

    def claimed(self, shares: Iterable[Share], answer: Claimed) -> None:
        """The answer to a claim. Where a share was taken whole there may be more, and the next one begins behind it."""
        taken: dict[int, int] = {}
        last: dict[int, int] = {}
        for row in answer.rows:
            partition = row.partition
            taken[partition] = taken.get(partition, 0) + 1
            if row.fire_at > last.get(partition, LONG_AGO):
                last[partition] = row.fire_at
        for partition, _, batch in shares:
            self._taken[partition] = taken.get(partition, 0)
            if self._taken[partition] == batch:
                self.due[partition] = min(last[partition], answer.due.get(partition, last[partition]))
                self._low[partition] = self.due[partition]
            else:
                self._put(partition, answer.due.get(partition))
                if answer.now is not None:
                    low = max(self.low(partition), answer.now - _REREAD)
                    self._low[partition] = min(low, answer.due.get(partition, low))
        self._recall()

    def _put(self, partition: int, instant: int | None) -> None:
        if instant is None:
            self.due.pop(partition, None)
        else:
            self.due[partition] = instant

    def _recall(self) -> None:
        for partition, instant in self._heard.items():
            self.due[partition] = min(instant, self.due.get(partition, instant))
            self._low[partition] = min(instant, self.low(partition))
