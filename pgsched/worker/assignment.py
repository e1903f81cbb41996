"""The worker's number, and the partitions that it prefers.

Every worker sees the same list of living workers, so each can work out its own share without asking. The partitions of
a queue are dealt out in turn among the workers that serve it; a capability that not all of them have adds a share among
those that have it. Shares are a preference, never a right: a worker with nothing to do helps where rows are overdue.
Nothing is claimed from a queue that is paused, nor by a worker that was told to drain, and nothing at all while the
installation is held for recovery: before a worker claims on a new connection, it compares the server with the one on
which the workers were before.
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
"""The part of a lease after which a worker counts as frozen, so that others find it out and have its rows within the
whole."""
RENEWALS = 4
"""How many times within a lease a worker renews itself and the leases of its rows."""


class Assignment:
    """This worker's number and its share of the partitions.

    ``instance`` is the name that its sessions carry, and ``channel`` the one on which its listener notifies itself. A
    worker that has renewed itself counts as living for the ``term``. ``partitions`` are those of all its queues,
    ``open`` those that may be claimed from, ``own`` its share of these. ``queue_names`` has its queues by number.
    ``held`` says why the installation is held, and the signal ``hold_changed`` that this has changed.
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
        """Its share, and the partitions from which nobody claims."""
        return self.own + [partition for partition in self.partitions if partition not in self.open]

    async def join(self, connection: Connection) -> None:
        """Registers, or stays registered if nobody has declared this worker lost."""
        async with self._joining:  # the listener and the renewer may find out at the same moment
            await self._join(connection)

    async def check_same_server(self, connection: Connection) -> None:
        """Notes that this worker is on this server. Closes all partitions where the installation is held."""
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
        """Says that this worker lives. Returns False if it was declared lost meanwhile."""
        return not self.number or await worker_registry.renew(connection, self.number, self.term)

    def share(self, alive: Sequence[worker_registry.RegisteredWorker]) -> bool:
        """Works out this worker's share among the workers that serve the same queues. Returns whether other partitions
        are open now than before."""
        me = next((worker for worker in alive if worker.id == self.number), None)
        if me is None or me.lost:
            return False
        before, self._is_draining = self.open, me.draining
        self._note_hold(me.held)
        self._take(me.served, me.paused)
        if not me.gone and not me.draining:  # gone it cannot be, but an answer may be old
            self.own = [partition for queue in me.served for partition in self._own_of(queue, alive)]
        return self.open != before

    def _own_of(self, queue: int, alive: Sequence[worker_registry.RegisteredWorker]) -> list[int]:
        """Its share among all that serve the queue, and among those that have a capability which not all have."""
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
