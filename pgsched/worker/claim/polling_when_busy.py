"""Polling: a worker that is notified often looks by itself, and tells writers that they need not notify.

PostgreSQL holds one lock for the whole database while a transaction that notifies commits, so many writers of near-term
rows would wait for each other's flush. A writer therefore notifies only while nobody polls. A worker that polls says so
for each of its queues every 0.4 seconds, in a place that nobody else can write, and claims every few milliseconds
whether or not it was told to. It stops once little comes in, or it has no room for more. For a moment it then goes on
looking, for rows whose writer saw it polling and committed later, and so it does while writers do not notify because
the queue of notifications is filling up. Writers believe what a worker said last for a second and a half after it is
gone; its poll interval finds the rows that come in meanwhile.
"""

import time
from collections.abc import Iterable

from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection

# A claim every few milliseconds, and no more than a fourth of the time. Whoever writes relies on it, though: a claim
# that took long (somebody else's rows had to be held) is followed by another soon all the same.
_SHORTEST_INTERVAL, _LONGEST_INTERVAL, _SHARE_OF_TIME = 0.003, 0.02, 4
_WORTH, _PERIOD = 25, 0.25  # so few rows in so many seconds are not worth polling for
LOOK_EVERY = 0.05
_AFTERGLOW = 1.0
_KEPT = 0.4  # seconds after which a worker says again that it polls: writers believe it for 1.5


class Polling:
    """Whether this worker polls, and whether it should."""

    def __init__(self) -> None:
        self.on = False
        self.is_called_for = False
        """Whether so many writers notify that this worker had better poll."""
        self._found, self._since = 0, float("-inf")
        self.looks_until = float("-inf")
        """Until then (monotonic) a worker that does not poll looks every ``LOOK_EVERY`` seconds."""
        self._worker, self._over, self._kept_at = 0, list[int](), float("-inf")
        self.interval = _SHORTEST_INTERVAL
        """Seconds between two claims while polling."""

    def look_often(self) -> None:
        """Has the worker look on its own for a moment: it stopped polling, or writers cannot notify."""
        self.looks_until = time.monotonic() + _AFTERGLOW

    async def start(self, connection: Connection, worker: int, partitions: Iterable[int]) -> None:
        """Starts polling, unless another worker polls these queues."""
        self.is_called_for, self._worker, self._over = False, worker, list(partitions)
        self._kept_at = time.monotonic()
        self.on = await worker_registry.watch_queues(connection, worker, self._over)
        self._found, self._since = 0, time.monotonic()

    async def keep(self, connection: Connection) -> None:
        """Says again that this worker polls, if it is time to; another worker may have taken over."""
        if self.on and time.monotonic() - self._kept_at >= _KEPT:
            self._kept_at = time.monotonic()
            if not await worker_registry.watch_queues(connection, self._worker, self._over):
                self.lose()

    async def stop(self, connection: Connection) -> None:
        """Makes writers notify again."""
        self.lose()
        await worker_registry.unwatch_queues(connection, self._worker, self._over)

    def lose(self) -> None:
        """Notes that this worker does not poll any more, or cannot say so."""
        if self.on:
            self.on = False
            self.look_often()

    def found(self, count: int, seconds: float) -> bool:
        """Counts what a claim found, and how long it took. Returns False once polling is not worth its statements."""
        self._found += count
        self.interval = min(max(_SHORTEST_INTERVAL, _SHARE_OF_TIME * seconds), _LONGEST_INTERVAL)
        now = time.monotonic()
        if now - self._since < _PERIOD:
            return True
        worth = self._found >= _WORTH
        self._found, self._since = 0, now
        return worth
