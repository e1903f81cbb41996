"""Releases executions whose predecessors have ended, and records results that a lock had delayed.

While no execution waits for another, this costs one look into an empty table every two seconds, and settling does not
look at all. While one waits, each settle of this process is followed by a turn, with a short pause between two turns.
The ends that another process settles are released there, or found here within two seconds. The same holds for a
consumer's result for an execution that another transaction had locked.
"""

import time
from uuid import UUID

from pgsched.events import Events
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Link
from pgsched.store.ends import dependencies

_MOST = 200
_APART = 0.02
_SWEEPING_ONE_IN = 20
_SWEEP_EVERY = 60.0


class Releaser(Service):
    """Looks every two seconds, after each settle, and when a notification says that an execution waits or was
    cancelled."""

    name = "releaser"

    def __init__(self, link: Link, events: Events, *, every: float = 2.0) -> None:
        super().__init__(events, link)
        self._link, self._every = link, every
        self._open = False
        # Earlier ends may be locked, and must not hold up later ones.
        self._after: dependencies.ReleasePosition | None = None
        self._swept_to: UUID | None = None
        self._turned_at, self._sweeping = float("-inf"), DutyCycle(_SWEEPING_ONE_IN, every=_SWEEP_EVERY)

    def settled(self) -> None:
        """Releases executions soon: rows have ended, and others may wait for them."""
        if self._open:
            self.wake()

    def look(self) -> None:
        """Looks at once: an execution waits for another, one that is waited for was cancelled, or a result was kept."""
        self._open = True
        self.wake()

    async def turn(self) -> float:
        pause = self._turned_at + _APART - time.monotonic()
        if pause > 0:
            return pause
        self._turned_at = time.monotonic()
        connection = await self._link.get()
        self._open, results_in = await dependencies.pending(connection)
        if results_in is not None and results_in <= 0:
            await dependencies.record_results(connection, most=_MOST)
            results_in = _APART
        if not self._open:
            return min(self._every, max(results_in or self._every, _APART))
        noted, decided, self._after = await dependencies.release(connection, most=_MOST, after=self._after)
        if self._sweeping.is_due:
            decided += await self._sweep()
        if decided:
            self.events.emit("dependents.released", count=decided)
        if noted or decided or self._after:
            return _APART
        return min(self._every, max(results_in or self._every, _APART))

    async def _sweep(self) -> int:
        """Checks the next part of all predecessors, and starts over after the last one."""
        async with self._sweeping.work_on(self._link) as connection:
            decided, self._swept_to = await dependencies.release_abandoned(connection, most=_MOST, after=self._swept_to)
        if self._swept_to:
            self._sweeping.go_on()
        return decided
