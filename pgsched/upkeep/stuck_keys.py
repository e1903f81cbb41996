"""Unblocks ordering keys that have no head although executions with the key are waiting.

A worker that settles the head of a key gives the turn to the next execution. This service handles all other cases: a
client's transaction removed the head and sent a notification, somebody deleted the head by hand, or an execution was
held while its predecessor ended in another worker.
"""

from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.gates import ordering
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment

_ONE_IN = 20
_KEYS = 500  # maximum number of a partition's keys that one turn checks


class StuckKeys(Service):
    """Checks this worker's partitions when it is woken, and every few seconds while executions wait for their turn.
    Checking takes at most a twentieth of the time."""

    name = "turns"

    every, idle_every = 2.0, 10.0

    def __init__(self, link: Link, events: Events, assignment: Assignment) -> None:
        super().__init__(events, link)
        self._link, self._assignment = link, assignment
        self._cycle = DutyCycle(_ONE_IN)
        self._marks: dict[int, ordering.Key] = {}

    async def turn(self) -> float:
        if pause := self._cycle.pause:
            return pause
        async with self._cycle.work_on(self._link) as connection:
            waits = await ordering.anybody_waits(connection)
            more = waits and await self._unblock_keys(connection)
        if more:
            return self._cycle.pause
        return self.every if waits else self.idle_every

    async def _unblock_keys(self, connection: Connection) -> bool:
        """Checks the next keys of each partition. Returns whether there are more."""
        own = self._assignment.own
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
