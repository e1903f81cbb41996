"""Takes back the rows of lost workers, and rows whose lease has expired.

A dead worker has no sessions. A frozen worker keeps its sessions but no longer renews its registration. The small table
of workers shows both, so watching costs one statement a second, however many rows wait. ``detector`` decides which
workers are lost. A worker that has been declared lost can no longer renew its registration. The worker that declared
the loss takes back the lost worker's rows in all queues. If it dies before it is done, another worker takes over after
a few seconds.

Executions are read only for lost workers, and occasionally for expired leases of running workers. Such rows are mostly
at the left edge of the index. If there is a backlog before them, each read continues where the last one ended.
"""

import time
from collections.abc import Iterable, Sequence

from pgsched.domain.queue_partitions import partitions_from
from pgsched.service import DutyCycle, Service, Signal
from pgsched.store.admin import worker_registry
from pgsched.store.admin.worker_registry import RegisteredWorker
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import reaping
from pgsched.store.live.parked_rows import SetAside
from pgsched.store.live.reaping import ReapRange, reap_others
from pgsched.store.pull import pull_upkeep
from pgsched.telemetry import Events
from pgsched.upkeep.failure_detector import CATCH_UP, FailureDetector
from pgsched.worker.assignment import Assignment

_EVERY = 1.0
_EDGES_ONE_IN = 20
_EDGE = 5_000  # due rows that are read from a partition at once
_SECONDS_A_TURN = 0.3  # seconds that one turn spends on taking rows back
_HELP_AFTER = 5.0  # seconds after which every worker helps to take back the rows of a lost worker
_PAUSE_BETWEEN_PARTS = 0.02
_NO_WORKER = 0  # the key of the walk for expired leases; no worker has this number


class TakeBackWalk:
    """Reads the due rows of some partitions once, in order of their instants. Takes back the rows that are leased by
    ``owners``, and rows whose lease had expired by ``ended_by``.
    """

    def __init__(self, owners: Sequence[int], partitions: Iterable[int], *, ended_by: float, depth: int) -> None:
        self.owners, self.partitions, self.ended_by = list(owners), list(partitions), ended_by
        self.returned = self.failed = 0
        self.parked: list[SetAside] = []
        self.begun_at = time.monotonic()
        self._depth = depth
        self._marks = dict.fromkeys(self.partitions, LONG_AGO)

    @property
    def is_over(self) -> bool:
        return not self._marks

    async def go_on(self, connection: Connection, seconds: float) -> None:
        """Continues the walk for about ``seconds`` seconds."""
        until = time.monotonic() + seconds
        while self._marks and time.monotonic() < until:
            partition, low = next(iter(self._marks.items()))
            part = ReapRange(partition, low, self._depth)
            reaped, parked = await reap_others(connection, part, self.owners, ended_by=self.ended_by)
            self.returned, self.failed = self.returned + reaped.returned, self.failed + reaped.failed
            self.parked += parked
            if reaped.read_to is None:
                del self._marks[partition]
            else:
                self._marks[partition] = reaped.read_to


class Reaper(Service):
    """Watches the other workers once a second, or more often while one of them is missing.

    Each time, the signal ``seen`` passes the registered workers. The signal ``reaped`` means that rows were taken back
    and may be claimed.
    """

    name = "reaper"
    rest = 3.0  # limits wake-ups, because any login can wake this service with a notification
    longest_turn = 300.0

    def __init__(
        self,
        watching: Link,
        link: Link,
        events: Events,
        assignment: Assignment,
        *,
        lease: float,
    ) -> None:
        """The connection ``watching`` is only for short statements, because a slow response counts as a disturbance."""
        super().__init__(events, watching, link)
        self._watching, self._link, self._assignment = watching, link, assignment
        self.seen: Signal[[Sequence[RegisteredWorker]]] = Signal()
        self.reaped: Signal[[]] = Signal()
        # Reading the edges can be slow: while an old snapshot is open, it also reads dead index entries.
        self._edges = DutyCycle(_EDGES_ONE_IN, every=max(lease / 6, _EVERY), at_most=lease)
        self.detector = FailureDetector()
        self._declared: set[int] = set()
        self._lost: dict[int, float] = {}
        self._walks: dict[int, TakeBackWalk] = {}
        self._marks: dict[int, int] = {}
        self._ran_out: tuple[float, float, list[int]] | None = None

    async def turn(self) -> float:
        connection = await self._watching.get()
        sent = time.monotonic()
        found = await worker_registry.watch(connection)
        self.detector.observe(found, sent, time.monotonic())
        self.seen(found)
        if not any(worker.id == self._assignment.number and not worker.lost for worker in found):
            self.detector.interrupt()
        else:
            await self._judge(connection, found)
        if await self._take_back([worker for worker in found if worker.lost]):
            return _PAUSE_BETWEEN_PARTS
        await self._look_at_edges()
        missing = any(worker.gone or worker.lost for worker in found)
        return _EVERY / 4 if missing else _EVERY

    async def recover(self, error: Exception) -> None:
        self.detector.interrupt()
        self._ran_out = None
        await super().recover(error)

    async def _judge(self, connection: Connection, found: Sequence[RegisteredWorker]) -> None:
        if self.detector.needs_proof:
            await self._prove(connection)
        condemned = set(self.detector.lost()) - {self._assignment.number}
        if lost := [worker for worker in found if worker.id in condemned and not worker.lost]:
            declared = set(await worker_registry.declare_lost(connection, lost))
            self._declared |= declared
            for worker in lost:
                if worker.id in declared:
                    self.events.emit("worker.declared_lost", worker=worker.id)
            self.wake()

    async def _prove(self, connection: Connection) -> None:
        """Proves that writes are possible, by renewing this worker's registration."""
        sent = time.monotonic()
        if await self._assignment.renew(connection):
            self.detector.prove(sent, time.monotonic())
        else:
            self.detector.interrupt()

    async def _take_back(self, lost: Sequence[RegisteredWorker]) -> bool:
        """Takes back the next rows. Returns whether there may be more."""
        self._begin_walks(lost)
        for id, walk in list(self._walks.items()):
            await walk.go_on(await self._link.get(), _SECONDS_A_TURN / len(self._walks))
            if walk.is_over:
                del self._walks[id]
                await self._finish(id, walk)
        return bool(self._walks)

    def _begin_walks(self, lost: Sequence[RegisteredWorker]) -> None:
        now = time.monotonic()
        self._lost = {worker.id: self._lost.get(worker.id, now) for worker in lost}
        self._walks = {id: walk for id, walk in self._walks.items() if id in self._lost or self._still_holds(id, walk)}
        for worker in lost:
            if worker.id not in self._walks and (
                worker.id in self._declared or now - self._lost[worker.id] >= _HELP_AFTER
            ):
                served = partitions_from(worker.served)
                self._walks[worker.id] = TakeBackWalk([worker.id], served, ended_by=0.0, depth=_EDGE)

    def _still_holds(self, id: int, walk: TakeBackWalk) -> bool:
        """Whether it is still certain that leases that end before the walk's ``ended_by`` have expired. If the
        database's clock was set back, new leases may also end before that time."""
        return id == _NO_WORKER and self.detector.is_steady_since(walk.begun_at)

    async def _finish(self, id: int, walk: TakeBackWalk) -> None:
        connection = await self._link.get()
        if id != _NO_WORKER:
            await worker_registry.forget(connection, [id])
            self._declared.discard(id)
        elif count := await pull_upkeep.reap(connection, walk.partitions, depth=_EDGE, ended_by=walk.ended_by):
            self.events.emit("deferred.reaped", count=count)
            self.reaped()
        for one in walk.parked:
            self.events.emit("execution.parked", execution=one.id.hex(), how=one.how, reason=one.reason)
        if walk.returned or walk.failed:
            workers_lost = ",".join(map(str, walk.owners))
            self.events.emit("lease.reaped", returned=walk.returned, failed=walk.failed, workers=workers_lost)
            self.reaped()

    async def _look_at_edges(self) -> None:
        """Finds expired leases. Takes back their rows later, when a running owner would have renewed the leases."""
        if self._ran_out is not None:
            found_at, ended_by, partitions = self._ran_out
            if not self.detector.is_steady_since(found_at):
                self._ran_out = None
            elif time.monotonic() - found_at >= CATCH_UP:
                self._ran_out = None
                self._walks[_NO_WORKER] = TakeBackWalk([], partitions, ended_by=ended_by, depth=_EDGE)
                self.wake()
        elif self._edges.is_due and (by := self.detector.ended_by()) is not None:
            async with self._edges.work_on(self._link) as connection:
                await self._look_for_run_out(connection, by)

    async def _look_for_run_out(self, connection: Connection, ended_by: float) -> None:
        marks = {partition: self._marks.get(partition, LONG_AGO) for partition in self._assignment.partitions_to_reap}
        if not marks:
            return
        found = await reaping.expired(connection, marks, _EDGE, ended_by=ended_by)
        self._marks = found.read_to
        if found.expired:
            await self._prove(await self._watching.get())
            self._ran_out = time.monotonic(), ended_by, found.expired
