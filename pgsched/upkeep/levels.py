"""Finds out which queues are full: those in which as many executions wait as may.

Whoever schedules looks at a mark on the queue and counts nothing. The mark is set and taken away here, by the first of
the living workers, once a second while there is a queue with a maximum. Counting takes longer the higher the maximum;
it never takes more than a tenth of the time. What comes in between two counts comes in above the maximum.
"""

from pgsched.events import Events
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Link
from pgsched.store.gates import levels
from pgsched.upkeep.host import Numbered

_ONE_IN = 10


class Levels(Service):
    """Woken when something is set for a queue; without a maximum anywhere it looks once a minute."""

    name = "levels"
    rest = 3.0  # whoever may connect may wake it

    def __init__(
        self, link: Link, events: Events, host: Numbered, *, every: float = 1.0, look_every: float = 60.0
    ) -> None:
        super().__init__(events, link)
        self._link, self._host, self._every, self._look_every = link, host, every, look_every
        self._cycle = DutyCycle(_ONE_IN)

    async def turn(self) -> float:
        if not (worker := self._host.number):
            return self._every
        if pause := self._cycle.pause:
            return pause
        bounded = await levels.bounded_queues(await self._link.get(), worker)
        with self._cycle.work():
            for queue in bounded:
                await self._count(queue)
        return max(self._every, self._cycle.pause) if bounded else self._look_every

    async def _count(self, queue: levels.Bounded) -> None:
        connection = await self._link.get()
        waiting = await levels.count(connection, queue)
        full = waiting >= queue.max_waiting
        if full != queue.full and await levels.note(connection, queue, full=full):
            event = "queue.full" if full else "queue.has_room"
            self.events.emit(event, queue=queue.name, waiting=waiting, maximum=queue.max_waiting)
