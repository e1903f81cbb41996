"""Takes rows back from workers that are lost, and leases that ran out.

A worker whose session is gone is dead within a moment, unless its connection was cut: it then takes its lock again
within the grace time. A worker that is frozen keeps its session but renews nothing: its lease runs out. Both are found
in the small table of workers, so watching costs one statement a second whatever is waiting; rows are read only for a
worker that is lost, and now and then for leases that ran out under a living one. Those mostly stand at the left edge;
where a backlog stands before them, each look reads on from where the last one ended.
"""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import looking, pulled, workers
from pgsched.store.connect import Connection, Link
from pgsched.store.reaping import reap_others
from pgsched.store.wire import LONG_AGO
from pgsched.store.workers import Worker

_GRACE = timedelta(seconds=0.75)
_CATCH_UP = 3.0  # after an outage the living get this long to take their locks again, to renew and to settle
_SHARE_OF_TIME = 20
_EDGE = 5_000  # due rows of a partition that one look for leases that ran out reads


class Reaper(Service):
    """Watches the other workers once a second; more closely while one of them is missing."""

    name = "reaper"
    rest = 3.0  # whoever may connect may wake it
    longest_turn = 300.0

    def __init__(
        self,
        link: Link,
        events: Events,
        *,
        lease: timedelta,
        queues: Sequence[str],
        partitions: Callable[[], Sequence[int]],
        minded: Callable[[], Sequence[int]],
        seen: Callable[[list[Worker]], None],
        reaped: Callable[[], None],
        every: float = 1.0,
    ) -> None:
        super().__init__(events)
        self._queues = set(queues)
        self._link, self._partitions, self._minded = link, partitions, minded
        self._seen, self._reaped = seen, reaped
        self._lease = lease.total_seconds()
        self._every, self._edge_every = every, max(lease.total_seconds() / 6, every)
        self._edge_at = self._trust_until = float("-inf")
        self._marks: dict[int, int] = {}

    async def turn(self) -> float:
        connection = await self._link.get()
        found = await workers.watch(connection, _GRACE)
        self._seen(found)
        if time.monotonic() < self._trust_until:
            return self._every / 4
        lost = [worker.id for worker in found if worker.lost and set(worker.queues) & self._queues]
        if lost:
            await self._reap(lost, self._partitions())
            await workers.forget(connection, lost)
        elif time.monotonic() - self._edge_at >= self._edge_every:
            started = time.monotonic()
            await self._reap_expired(connection)
            # While an old snapshot is held open this reads what is dead, too: never more than a twentieth of the time,
            # but once within a lease in any case.
            pause = min(_SHARE_OF_TIME * (time.monotonic() - started), self._lease)
            self._edge_at = started + max(0.0, pause - self._edge_every)
        missing = any(worker.gone for worker in found)
        return self._every / 4 if missing else self._every

    async def recover(self, error: Exception) -> None:
        self._trust_until = time.monotonic() + _CATCH_UP
        await self._link.drop(error)

    async def _reap_expired(self, connection: Connection) -> None:
        marks = {partition: self._marks.get(partition, LONG_AGO) for partition in self._minded()}
        partitions, read_to = await looking.expired(connection, marks, _EDGE)
        # One instant may have more rows than a part: it is not to be read for ever.
        self._marks = {partition: to + (to == marks[partition]) for partition, to in read_to.items()}
        await self._reap([], partitions)
        if partitions and (count := await pulled.reap(connection, partitions, depth=_EDGE)):
            self.events.emit("deferred.reaped", count=count)
            self._reaped()

    async def _reap(self, owners: Sequence[int], partitions: Sequence[int]) -> None:
        connection = await self._link.get()
        returned = failed = 0
        for partition in partitions:
            back, ended, parked = await reap_others(connection, partition, owners)
            for one in parked:
                self.events.emit("execution.parked", execution=one.id.hex(), how=one.how, reason=one.reason)
            returned, failed = returned + back, failed + ended
        if returned or failed:
            self.events.emit("lease.reaped", returned=returned, failed=failed, workers=",".join(map(str, owners)))
            self._reaped()
