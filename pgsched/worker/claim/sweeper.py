"""The sweep: looks for rows that stand where claims do not read any more.

Claims and looks begin a moment back, not at the left edge of the index (``sight``). What stands further back without
anybody having been told (its notification silenced or lost, or handed back by a worker that left) is found here. The
sweep reads the whole edge, dead entries and all. Where the worker has nothing to do and none are there, its looks read
from the edge too, and do for both. While an old snapshot keeps those alive it takes long, so it runs
beside the claims, and never takes more than a twentieth of the time.
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
