"""The sweep: looks for rows that stand where claims do not read any more.

Claims and looks begin a moment back, not at the left edge of the index (``sight``). The sweep finds rows further back
that nobody announced: their notification was silenced or lost, or a worker that left handed them back. It reads the
whole edge with all its dead entries. That takes long while an old snapshot keeps these, so the sweep runs beside the
claims and takes at most a twentieth of the time. While the worker has nothing to do and there are no dead entries, its
looks read from the edge and so make the sweep unnecessary.
"""

from collections.abc import Awaitable, Callable

from pgsched.events import Events
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link

_ONE_IN = 20


class Sweeper(Service):
    """Calls ``sweep`` with a connection, every poll interval."""

    name = "sweeper"

    def __init__(
        self, link: Link, events: Events, *, sweep: Callable[[Connection], Awaitable[None]], every: float
    ) -> None:
        super().__init__(events, link)
        self._link, self._sweep = link, sweep
        self._cycle = DutyCycle(_ONE_IN, every=every)

    async def turn(self) -> float:
        async with self._cycle.work_on(self._link) as connection:
            await self._sweep(connection)
        return self._cycle.pause
