"""Lets ordering keys go on that nobody is at the head of any more, though somebody waits for his turn.

Whatever ends in pgsched's own hands lets the next of its key go on with it. What was deleted by hand, or was decided
in the very moment in which its predecessor ended elsewhere, is found here. Nothing is read where nobody waits.
"""

import time
from collections.abc import Callable, Sequence

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import ordering
from pgsched.store.connect import Link

_SHARE_OF_TIME = 20


class Turns(Service):
    """Looks at this worker's partitions every few seconds while somebody waits, in a twentieth of the time at most."""

    name = "turns"

    def __init__(
        self,
        link: Link,
        events: Events,
        *,
        partitions: Callable[[], Sequence[int]],
        every: float = 2.0,
        idle_every: float = 10.0,
    ) -> None:
        super().__init__(events)
        self._link, self._partitions, self._every, self._idle_every = link, partitions, every, idle_every

    async def turn(self) -> float:
        started = time.monotonic()
        connection = await self._link.get()
        if not await ordering.anybody_waits(connection):
            return self._idle_every
        for partition in self._partitions():
            if count := await ordering.let_stuck(connection, partition):
                self.events.emit("ordering.repaired", count=count)
        return max(self._every, _SHARE_OF_TIME * (time.monotonic() - started))

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
