"""Serves pulled queues, from which workers do not claim.

The rows of jobs are released to consumers shortly before they are due, and each job's next row is planned. A consumer's
claim takes back rows with expired leases. While there are no claims, this service takes these rows back, so that final
failures are recorded even if no consumer is alive. One worker serves all pulled queues.
"""

import time
from collections.abc import Callable
from datetime import timedelta

import psycopg

from pgsched.domain.gate import CLIENT
from pgsched.domain.queue_partitions import partitions_from
from pgsched.service import DutyCycle, Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.gates import gates, ordering
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live import reaping
from pgsched.store.live.executions import Lease
from pgsched.store.pull import pull_upkeep
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment
from pgsched.worker.claiming_connection import new_token
from pgsched.worker.clock import DatabaseClock

_LOOK_EVERY = 5.0
_AHEAD = timedelta(seconds=1)
_EVERY = 0.4
_BACK = 3_000_000  # reading begins this many microseconds before now; the sweep finds earlier rows
_SWEEP_EVERY = 60.0
_BATCH = 50  # rows per partition
_DEPTH = 5_000
_KEYS = 500
_SET_ASIDE, _GATES, _HELD_EVERY = 500, 100, 1.0
_ONE_IN = 20


class PulledQueues(Service):
    """Releases jobs' rows to consumers, holds the rows of held clients, and takes back rows with expired leases."""

    name = "pulled"

    def __init__(
        self,
        chores: Link,
        link: Link,
        events: Events,
        assignment: Assignment,
        clock: DatabaseClock,
        *,
        lease: timedelta,
        ended_by: Callable[[], float | None],
    ) -> None:
        """``ended_by`` returns the time before which leases count as expired (``FailureDetector.ended_by``)."""
        super().__init__(events, link, chores)
        self._chores, self._link = chores, link
        self._assignment, self._clock, self._lease = assignment, clock, lease
        self._ended_by = ended_by
        self._definitions = Definitions()
        self._queues: list[int] = []
        self._looked_at = float("-inf")
        self._holding, self._reaping = DutyCycle(_ONE_IN, every=_HELD_EVERY), DutyCycle(_ONE_IN, every=_LOOK_EVERY)
        self._gates_to = CLIENT
        self._swept_at: dict[int, float] = {}
        self._keys: dict[int, ordering.Key] = {}

    async def turn(self) -> float:
        if time.monotonic() - self._looked_at >= _LOOK_EVERY and self._assignment.number:
            await self._look_at_queues()
        if not self._queues:
            return _LOOK_EVERY if self._assignment.number else _EVERY
        try:
            return await self._serve_queues()
        except psycopg.errors.UndefinedTable:
            known = self._queues
            await self._look_at_queues()
            if self._queues == known:
                raise
            return 0.0  # a queue has been dropped since the queues were read

    async def _look_at_queues(self) -> None:
        self._looked_at = time.monotonic()
        self._queues = await pull_upkeep.queues(await self._chores.get(), worker=self._assignment.number)

    async def _serve_queues(self) -> float:
        full = [queue for queue in self._queues if await self._hand_to_consumers(queue)]
        if self._holding.is_due:
            async with self._holding.work_on(self._chores) as connection:
                await self._hold_and_release(connection)
        if self._reaping.is_due:
            async with self._reaping.work_on(self._chores) as connection:
                await self._take_back(connection)
        return 0.0 if full else _EVERY

    def look(self) -> None:
        """Brings forward the next check for ordering keys whose next execution may be handed out."""
        self._reaping.hasten(_EVERY)

    async def _hand_to_consumers(self, queue: int) -> bool:
        """Releases the due rows of jobs in a queue to its consumers. Returns whether there may be more."""
        sweeps = time.monotonic() - self._swept_at.get(queue, float("-inf")) >= _SWEEP_EVERY
        low = LONG_AGO if sweeps else self._clock.now() - _BACK
        lease = Lease(
            owner=self._assignment.number,
            token=new_token(),
            length=self._lease,
            ahead=_AHEAD,
            definitions=self._definitions,
        )
        how = {"low": low, "batch": _BATCH, "now": self._clock.now()}
        passed = await pull_upkeep.pass_on(await self._link.get(), lease, queue, **how)
        for one in passed.parked:
            self.events.emit("execution.parked", execution=one.id.hex(), how=one.how, reason=one.reason)
        if sweeps and len(passed.taken) < _BATCH:
            self._swept_at[queue] = time.monotonic()
        return len(passed.taken) >= _BATCH

    async def _hold_and_release(self, connection: Connection) -> None:
        """Holds the due rows of held clients, so that claims need not skip them. Releases the rows of clients that are
        no longer held."""
        partitions = partitions_from(self._queues)
        held = await pull_upkeep.held_clients(connection)
        if held:
            for partition in partitions:
                await gates.hold_due(connection, partition, _SET_ASIDE, clients=held)
        names = await gates.holding(connection, after=self._gates_to, most=_GATES)
        self._gates_to = names[-1] if len(names) == _GATES and names[-1].startswith(CLIENT) else CLIENT
        over = [name for name in names if name.startswith(CLIENT) and name.removeprefix(CLIENT) not in held]
        if over:
            await pull_upkeep.let_held(connection, partitions, over, most=_SET_ASIDE)

    async def _take_back(self, connection: Connection) -> None:
        partitions = partitions_from(self._queues)
        if (ended_by := self._ended_by()) is not None:
            marks = dict.fromkeys(partitions, LONG_AGO)
            lost, _ = await reaping.expired(connection, marks, _DEPTH, ended_by=ended_by)
            if lost and (count := await pull_upkeep.reap(connection, lost, depth=_DEPTH, ended_by=ended_by)):
                self.events.emit("lease.reaped", returned=count, failed=0, workers="")
        if await ordering.anybody_waits(connection):
            for partition in partitions:
                mark = self._keys.get(partition, ordering.FIRST)
                repaired, go_on = await ordering.let_stuck(connection, partition, after=mark, most=_KEYS)
                self._keys[partition] = go_on or ordering.FIRST
                if repaired:
                    self.events.emit("ordering.repaired", count=repaired)
