"""Polling: a worker that is notified often polls instead, so that writers need not notify.

PostgreSQL holds a lock for the whole database while a transaction that notifies commits, so writers of near-term rows
would wait for each other's flush. Therefore, writers notify only while no worker polls. A polling worker announces
this for each of its queues every 0.4 seconds, in a place that nobody else can write, and claims every few milliseconds.
It stops when few rows come in or it has no room. For a moment it then looks often, for rows whose writers saw it
polling and committed later. It also looks often while writers do not notify because PostgreSQL's notification queue is
filling up. An announcement is valid for 1.5 seconds, even if the worker dies. Rows that come in meanwhile are found
within the poll interval.
"""

import time
from collections.abc import Iterable

from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection

# A claim every few milliseconds, in at most a quarter of the time. Writers rely on it, so another claim follows soon
# even after one that took long, because it had to hold rows.
_SHORTEST_INTERVAL, _LONGEST_INTERVAL, _SHARE_OF_TIME = 0.003, 0.02, 4
_WORTH, _PERIOD = 25, 0.25  # fewer rows in this many seconds are not worth polling
LOOK_EVERY = 0.05
_AFTERGLOW = 1.0
_KEPT = 0.4  # seconds between announcements, which are valid for 1.5 seconds


class Polling:
    """Whether this worker polls, and whether it should."""

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
        """Makes the worker look often for a moment: it stopped polling, or writers cannot notify."""
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
        """Makes writers notify again."""
        self.lose()
        await worker_registry.unwatch_queues(connection, self._worker, self._over)

    def lose(self) -> None:
        """Notes that this worker no longer polls, or cannot announce it."""
        if self.on:
            self.on = False
            self.look_often()

    def found(self, count: int, seconds: float) -> bool:
        """Takes a claim's number of rows and duration. Returns False once polling finds too few rows."""
        self._found += count
        self.interval = min(max(_SHORTEST_INTERVAL, _SHARE_OF_TIME * seconds), _LONGEST_INTERVAL)
        now = time.monotonic()
        if now - self._since < _PERIOD:
            return True
        worth = self._found >= _WORTH
        self._found, self._since = 0, now
        return worth
