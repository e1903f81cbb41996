"""Releases executions whose predecessors have ended. Also does the work of ``locked_results_and_held_expiry``.

While no execution waits for another, the service reads an empty table every two seconds. While any execution waits, a
turn follows each batch that this process settles, with a short pause between turns. If another process settles a
predecessor, that process releases the dependents, or this process does within two seconds.

If very many executions wait for the same predecessor, they are released in parts, so that other clients are not
delayed.
"""

import time
from collections import deque
from uuid import UUID

from pgsched.service import DutyCycle, Service
from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection, Link
from pgsched.store.ends import dependencies
from pgsched.telemetry import Events
from pgsched.upkeep.locked_results_and_held_expiry import record_and_end

_MOST = 200
_MOST_LARGE = 1_000  # maximum number of partly processed ends that are remembered
_APART = 0.02
_SWEEPING_ONE_IN = 20
_SWEEP_EVERY = 60.0


class DependentReleaser(Service):
    """Polls every two seconds, after each settled batch, and when an execution begins to wait or is cancelled."""

    name = "releaser"

    def __init__(self, link: Link, events: Events, *, every: float = 2.0) -> None:
        super().__init__(events, link)
        self._link, self._every = link, every
        self._open = False
        # Each turn continues where the last turn ended, because locked ends must not delay later ends.
        self._after: dependencies.ReleasePosition | None = None
        self._large: deque[dependencies.ReleasePosition] = deque(maxlen=_MOST_LARGE)
        self._swept_to: UUID | None = None
        self._turned_at, self._sweeping = float("-inf"), DutyCycle(_SWEEPING_ONE_IN, every=_SWEEP_EVERY)

    def settled(self) -> None:
        """Makes the next turn follow soon, because rows have ended for which others may wait."""
        if self._open:
            self.wake()

    def look(self) -> None:
        """Polls at once: an execution waits for another, a predecessor was cancelled, or a result was stored."""
        self._open = True
        self.wake()

    async def turn(self) -> float:
        pause = self._turned_at + _APART - time.monotonic()
        if pause > 0:
            return pause
        self._turned_at = time.monotonic()
        connection = await self._link.get()
        self._open, *due_in = await dependencies.pending(connection)
        pause = min(self._every, max(await record_and_end(connection, *due_in, most=_MOST), _APART))
        if not self._open:
            return pause
        noted, decided, read_to = await dependencies.release(connection, most=_MOST, after=self._after)
        self._after = self._beyond(read_to)
        decided += await self._go_on(connection)
        if self._sweeping.is_due:
            decided += await self._sweep()
        if decided:
            self.events.emit("dependents.released", count=decided)
        if noted or decided or self._after or self._large:
            return _APART
        return pause

    def _beyond(self, read_to: dependencies.ReleasePosition | None) -> dependencies.ReleasePosition | None:
        """Returns the position after which to continue. Remembers an end that was only partly processed."""
        if read_to is None or read_to.behind is None:
            return read_to
        if all(large.end != read_to.end for large in self._large):
            self._large.append(read_to)
        return dependencies.ReleasePosition(read_to.end)

    async def _go_on(self, connection: Connection) -> int:
        """Releases the next dependents of the partly processed predecessor that has waited longest."""
        if not self._large:
            return 0
        large = self._large.popleft()
        _, decided, read_to = await dependencies.release(connection, most=1, after=large)
        if read_to is not None and read_to.end == large.end and read_to.behind is not None:
            self._large.append(read_to)
        return decided

    async def _sweep(self) -> int:
        """Checks the next part of all predecessors, and starts over after the last one."""
        async with self._sweeping.work_on(self._link) as connection:
            decided, self._swept_to = await internal_verbs.release_abandoned(
                connection, most=_MOST, after=self._swept_to
            )
        if self._swept_to:
            self._sweeping.go_on()
        return decided
