"""Polling: a worker that is notified often polls instead, so that writers need not notify.

While a transaction that notifies commits, PostgreSQL holds a lock on the whole database. If all writers of near-term
rows notified, they would wait for each other's flushes to disk. So writers notify only while no worker polls.

A polling worker claims every few milliseconds, and stops polling when few rows come in or when it has no room. After
that, it looks often for a moment, because writers that saw it polling may commit later. It also looks often while
writers do not notify because PostgreSQL's notification queue is filling up.

Every 0.4 seconds, a polling worker announces for each of its queues that it polls, in a place that only workers can
write. An announcement is valid for 1.5 seconds, even if the worker dies. Rows that come in after the worker's death are
found within the poll interval.
"""

import time
from collections.abc import Iterable

from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection

# Claims are made every few milliseconds, in at most a quarter of the time. Writers rely on polling, so the next claim
# follows soon even after a long claim, such as one that had to hold rows.
_SHORTEST_INTERVAL, _LONGEST_INTERVAL, _SHARE_OF_TIME = 0.003, 0.02, 4
_WORTH, _PERIOD = 25, 0.25  # polling stops if it finds fewer than _WORTH rows in _PERIOD seconds
LOOK_EVERY = 0.05
_AFTERGLOW = 1.0
_KEPT = 0.4  # seconds between announcements, which are valid for 1.5 seconds


class Polling:
    """The state of polling: whether this worker polls, and whether it should."""

    def __init__(self) -> None:
        self.on = False
        self.is_called_for = False
        """Whether there are so many notifications that this worker should poll."""
        self._found, self._since = 0, float("-inf")
        self.looks_until = float("-inf")
        """The monotonic time until which a worker that does not poll looks every ``LOOK_EVERY`` seconds."""
        self._worker, self._over, self._kept_at = 0, list[int](), float("-inf")
        self.interval = _SHORTEST_INTERVAL
        """Seconds between two claims while polling."""

    def look_often(self) -> None:
        """Makes the worker look often for a moment, because it has stopped polling or writers cannot notify."""
        self.looks_until = time.monotonic() + _AFTERGLOW

    async def start(self, connection: Connection, worker: int, partitions: Iterable[int]) -> None:
        """Starts polling, unless another worker polls these queues."""
        self.is_called_for, self._worker, self._over = False, worker, list(partitions)
        self._kept_at = time.monotonic()
        self.on = await worker_registry.watch_queues(connection, worker, self._over)
        self._found, self._since = 0, time.monotonic()

    async def keep(self, connection: Connection) -> None:
        """Renews the announcement if it is due. Stops polling if another worker has taken over."""
        if self.on and time.monotonic() - self._kept_at >= _KEPT:
            self._kept_at = time.monotonic()
            if not await worker_registry.watch_queues(connection, self._worker, self._over):
                self.lose()

    async def stop(self, connection: Connection) -> None:
        """Stops polling, and makes writers notify again."""
        self.lose()
        await worker_registry.unwatch_queues(connection, self._worker, self._over)

    def lose(self) -> None:
        """Stops polling without telling writers, because another worker polls or the database cannot be reached."""
        if self.on:
            self.on = False
            self.look_often()

    def found(self, count: int, seconds: float) -> bool:
        """Records a claim's number of rows and its seconds. Returns False if polling finds too few rows."""
        self._found += count
        self.interval = min(max(_SHORTEST_INTERVAL, _SHARE_OF_TIME * seconds), _LONGEST_INTERVAL)
        now = time.monotonic()
        if now - self._since < _PERIOD:
            return True
        worth = self._found >= _WORTH
        self._found, self._since = 0, now
        return worth
