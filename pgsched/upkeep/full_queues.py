"""Marks queues that have reached their ``max_waiting``.

Scheduling only checks the mark and does not count. While any queue has a maximum, the first of the running workers
counts once a second, and sets and clears the marks. The higher the maximum, the longer a count takes, but counting
never takes more than a tenth of the time. A queue may exceed its maximum by the number of executions that arrive
between two counts.
"""

from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.gates import queue_depth
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment

_ONE_IN = 10
_EVERY, _LOOK_EVERY = 1.0, 60.0


class FullQueues(Service):
    """The service is woken when a queue's settings change. While no queue has a maximum, it polls once a minute."""

    name = "full_queues"
    rest = 3.0  # limits wake-ups, because any login can wake this service with a notification

    def __init__(self, link: Link, events: Events, assignment: Assignment) -> None:
        super().__init__(events, link)
        self._link, self._assignment = link, assignment
        self._cycle = DutyCycle(_ONE_IN)

    async def turn(self) -> float:
        if not (worker := self._assignment.number):
            return _EVERY
        if pause := self._cycle.pause:
            return pause
        async with self._cycle.work_on(self._link) as connection:
            bounded = await queue_depth.bounded_queues(connection, worker)
            for queue in bounded:
                await self._count(connection, queue)
        return max(_EVERY, self._cycle.pause) if bounded else _LOOK_EVERY

    async def _count(self, connection: Connection, queue: queue_depth.Bounded) -> None:
        waiting = await queue_depth.count(connection, queue)
        full = waiting >= queue.max_waiting
        if full != queue.full and await queue_depth.note(connection, queue, full=full):
            event = "queue.full" if full else "queue.has_room"
            self.events.emit(event, queue=queue.name, waiting=waiting, maximum=queue.max_waiting)
