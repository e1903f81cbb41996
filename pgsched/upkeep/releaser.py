"""Lets those fire that waited for an execution that has ended, and records results of which a lock kept somebody.

Nothing is paid for it where nobody waits: settling does not look, and a turn is one look into an empty table every two
seconds. While somebody waits, every settle of this process is followed by a turn at once, no two of them closer than
a moment; an end that was settled elsewhere is looked for there, or found within two seconds. So is what a consumer said
of an execution that somebody had locked at that moment.
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


class Releaser(Service):
    """Looks every two seconds, after settles, and when told that somebody waits or what is waited for is no more."""

    name = "releaser"

    def __init__(self, link: Link, events: Events, *, every: float = 2.0, sweep_every: float = 60.0) -> None:
        super().__init__(events, link)
        self._link, self._every = link, every
        self._open = False
        self._after: dependencies.Place | None = None  # what stands before it may be locked: nobody waits behind that
        self._swept_to: UUID | None = None
        self._turned_at, self._sweeping = float("-inf"), DutyCycle(_SWEEPING_ONE_IN, every=sweep_every)

    def settled(self) -> None:
        """Rows have ended; somebody may wait for one of them."""
        if self._open:
            self.wake()

    def look(self) -> None:
        """An execution waits for another, one waited for was taken back, or a result is kept."""
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
        """A part of all that is waited for; after the last one begins at the first again."""
        with self._sweeping.work():
            connection = await self._link.get()
            decided, self._swept_to = await dependencies.release_abandoned(connection, most=_MOST, after=self._swept_to)
        if self._swept_to:
            self._sweeping.go_on()
        return decided
