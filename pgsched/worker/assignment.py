"""The worker's number, and the partitions that it prefers.

Every worker sees the same list of running workers, so each computes its own share without coordination. A queue's
partitions are dealt in turn to the workers that serve the queue. If only some of these workers have a capability, the
partitions are dealt once more, among those workers. A share is only a preference: an idle worker helps where rows are
overdue.

No rows are claimed from a paused queue, by a draining worker, or while the installation is held for recovery. Before a
worker claims on a new connection, it checks that this is still the server that the workers used before.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from pgsched.domain.capability import crews
from pgsched.domain.queue_partitions import partitions_from
from pgsched.service import Signal
from pgsched.store import internal_verbs
from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection
from pgsched.version import __version__

TERM = 2 / 3
"""The part of a lease after which a silent worker counts as frozen. During the rest of the lease, other workers notice
the silence and take back the worker's rows."""
RENEWALS = 4
"""How many times per lease a worker renews its registration and the leases of its rows."""


class Assignment:
    """This worker's number and its share of the partitions.

    ``instance`` is the name of the worker's sessions. The worker's listener notifies itself on ``channel``. After a
    renewal, the worker counts as alive for the ``term``. ``partitions`` are the partitions of all the worker's queues,
    ``open`` are those from which rows may be claimed, and ``own`` is the worker's share of ``open``. ``queue_names``
    maps queue numbers to names. ``held`` is the reason why the installation is held, or None; the signal
    ``hold_changed`` reports the start and end of a hold.
    """

    def __init__(
        self,
        *,
        name: str,
        instance: str,
        queues: Sequence[str],
        lease: timedelta,
        concurrency: int = 1,
        delivers: Callable[[], frozenset[str]] = frozenset,
    ) -> None:
        self._name, self.instance, self._queues = name, instance, list(queues)
        self._concurrency = concurrency
        self._delivers = delivers
        self._lease, self.term = lease, lease * TERM
        self.channel = f"pgsched_worker_{instance}"
        self._joining = asyncio.Lock()
        self.held: str | None = None
        self._renewals: int | None = None
        self.hold_changed: Signal[[]] = Signal()
        self._is_draining = False
        self.number = 0
        self.queue_names: Mapping[int, str] = {}
        self.partitions: list[int] = []
        self.open: list[int] = []
        self.own: list[int] = []

    @property
    def partitions_to_reap(self) -> list[int]:
        """The worker's share, and the partitions from which no worker claims."""
        return self.own + [partition for partition in self.partitions if partition not in self.open]

    async def join(self, connection: Connection) -> None:
        """Registers this worker, or renews its registration unless it was declared lost."""
        async with self._joining:  # the listener and the renewer may join at the same moment
            await self._join(connection)

    async def check_same_server(self, connection: Connection) -> None:
        """Checks which server this worker is on. If the installation is held there, closes all partitions."""
        held, self._renewals = await internal_verbs.check_same_server(connection, known=self._renewals)
        self._note_hold(held)

    def _note_hold(self, found: str | None) -> None:
        before, self.held = self.held, found
        if found is not None:
            self.open, self.own = [], []
        if (found is None) is not (before is None):
            self.hold_changed()

    async def _join(self, connection: Connection) -> None:
        await self.check_same_server(connection)
        found = await worker_registry.served(connection, self._queues)
        self.queue_names = found.names
        self._take(found.queues, found.paused)
        if self.number and await worker_registry.renew(connection, self.number, self.term):
            return
        introduction = worker_registry.Introduction(
            name=self._name,
            instance=self.instance,
            queues=self._queues,
            release=__version__,
            delivers=sorted(self._delivers()),
            concurrency=self._concurrency,
            lease=self._lease,
            term=self.term,
            former=self.number,
        )
        self.number = await worker_registry.register(connection, introduction)
        self.own = self.own or list(self.open)

    async def renew(self, connection: Connection) -> bool:
        """Renews the registration. Returns False if this worker was declared lost."""
        return not self.number or await worker_registry.renew(connection, self.number, self.term)

    def share(self, alive: Sequence[worker_registry.RegisteredWorker]) -> bool:
        """Computes this worker's share of its queues. Returns whether the open partitions have changed."""
        me = next((worker for worker in alive if worker.id == self.number), None)
        if me is None or me.lost:
            return False
        before, self._is_draining = self.open, me.draining
        self._note_hold(me.held)
        self._take(me.served, me.paused)
        if not me.gone and not me.draining:  # a list that shows this worker as gone is out of date
            self.own = [partition for queue in me.served for partition in self._own_of(queue, alive)]
        return self.open != before

    def _own_of(self, queue: int, alive: Sequence[worker_registry.RegisteredWorker]) -> list[int]:
        """Returns this worker's share of a queue's open partitions. The partitions are divided among all workers of the
        queue. For each capability that only some workers have, they are also divided among those workers."""
        peers = {
            worker.id: frozenset(worker.delivers)
            for worker in alive
            if queue in worker.served and not (worker.gone or worker.lost or worker.draining)
        }
        shares = [(len(crew), crew.index(self.number)) for crew in crews(peers[self.number], peers)]
        partitions = enumerate(partitions_from([queue]))
        mine = (p for place, p in partitions if any(place % size == rank for size, rank in shares))
        return [partition for partition in mine if partition in self.open]

    def _take(self, served: Sequence[int], paused: Sequence[int]) -> None:
        self.partitions = partitions_from(served)
        self.open = partitions_from(queue for queue in served if queue not in paused and not self._is_draining)
        self.own = [partition for partition in self.own if partition in self.open]
