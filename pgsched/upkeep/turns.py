"""Lets ordering keys go on that nobody is at the head of any more, though somebody waits for his turn.

What ends in a worker's hands lets the next of its key go on with it. What a client's transaction takes out of the way
is told by notification, and looked for here; so is what was deleted by hand, or was decided in the very moment in which
its predecessor ended elsewhere. Nothing is read where nobody waits.
"""

import time
from collections.abc import Callable, Sequence

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import ordering
from pgsched.store.connect import Link

_SHARE_OF_TIME = 20


class Turns(Service):
    """Looks at this worker's partitions when told to and every few seconds while somebody waits, in a twentieth of the
    time at most."""

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
        self._link, self._partitions = link, partitions
        self.every, self.idle_every = every, idle_every
        self._not_before = float("-inf")

    async def turn(self) -> float:
        started = time.monotonic()
        if started < self._not_before:
            return self._not_before - started
        connection = await self._link.get()
        waits = await ordering.anybody_waits(connection)
        if waits:
            for partition in self._partitions():
                if count := await ordering.let_stuck(connection, partition):
                    self.events.emit("ordering.repaired", count=count)
        took = time.monotonic() - started
        self._not_before = time.monotonic() + (_SHARE_OF_TIME - 1) * took
        return self.every if waits else self.idle_every

    async def recover(self, error: Exception) -> None:
        await self._link.drop(error)
