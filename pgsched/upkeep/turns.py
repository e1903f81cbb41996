"""Lets ordering keys go on that nobody is at the head of any more, though somebody waits for his turn.

What ends in a worker's hands lets the next of its key go on with it. What a client's transaction takes out of the way
is told by notification, and looked for here; so is what was deleted by hand, or was decided in the very moment in which
its predecessor ended elsewhere. Nothing is read where nobody waits.
"""

from pgsched.events import Events
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.gates import ordering
from pgsched.upkeep.host import Host

_ONE_IN = 20
_KEYS = 500  # of a partition that one turn looks at


class Turns(Service):
    """Looks at this worker's partitions when told to and every few seconds while somebody waits, in a twentieth of the
    time at most."""

    name = "turns"

    def __init__(
        self,
        link: Link,
        events: Events,
        host: Host,
        *,
        every: float = 2.0,
        idle_every: float = 10.0,
    ) -> None:
        super().__init__(events, link)
        self._link, self._host = link, host
        self.every, self.idle_every = every, idle_every
        self._cycle = DutyCycle(_ONE_IN)
        self._marks: dict[int, ordering.Key] = {}

    async def turn(self) -> float:
        if pause := self._cycle.pause:
            return pause
        connection = await self._link.get()  # to wait for one costs the others nothing
        with self._cycle.work():
            waits = await ordering.anybody_waits(connection)
            more = waits and await self._let_stuck(connection)
        if more:
            return self._cycle.pause
        return self.every if waits else self.idle_every

    async def _let_stuck(self, connection: Connection) -> bool:
        """Looks at a part of the keys of each partition, from where the last look ended; whether there are more."""
        own = self._host.own
        if not self._marks:
            self._marks = dict.fromkeys(own, ordering.FIRST)
        for partition, mark in list(self._marks.items()):
            count, go_on = await ordering.let_stuck(connection, partition, after=mark, most=_KEYS)
            if go_on is None or partition not in own:
                del self._marks[partition]
            else:
                self._marks[partition] = go_on
            if count:
                self.events.emit("ordering.repaired", count=count)
        return bool(self._marks)
