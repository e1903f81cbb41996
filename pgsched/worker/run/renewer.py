"""Renews the worker's registration and the leases of the rows in hand, checks which server the worker is on, and closes
unused connections.

The renewer has its own connection, so that it does not wait for other statements. If the connection is lost and the
server accepts no new one, the renewer uses one of the worker's other connections, because a worker that still works
should not be declared lost.

Rows that are delivered quickly are never renewed. A worker that was declared lost registers again at once. By then, the
rows that it still has in hand belong to other workers, so their outcomes are refused.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import timedelta

import psycopg

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.gates import ordering
from pgsched.store.live import executions
from pgsched.store.live.claimed_row_recheck import Recall, recall
from pgsched.store.live.executions import Group
from pgsched.store.live.settle_locks import still_leased
from pgsched.telemetry import Events
from pgsched.worker.assignment import RENEWALS, Assignment
from pgsched.worker.claiming_connection import SURE
from pgsched.worker.run.dispatcher import Dispatcher

_LOCKED = 0.05
"""Seconds until a row whose job is locked is checked again."""


class Renewer(Service):
    """Renews leases every quarter of a lease, and checks doubted rows at once."""

    name = "renewer"

    def __init__(
        self,
        link: Link,
        assignment: Assignment,
        dispatcher: Dispatcher,
        events: Events,
        *,
        lease: timedelta,
        rejoin: Callable[[Connection], Awaitable[None]],
        others: Sequence[Link] = (),
    ) -> None:
        super().__init__(events, link)
        self._link, self._assignment, self._dispatcher = link, assignment, dispatcher
        self._lease, self._rejoin, self._others = lease, rejoin, others
        self._every = lease.total_seconds() / RENEWALS
        self._renew_at = float("-inf")
        self._doubted: set[bytes] = set()

    def doubt(self, ids: Collection[bytes]) -> None:
        """Makes the next turn check in the database whether these executions were ended or changed, because any user
        can send a notification that says so. Executions that have not begun wait for the check."""
        self._dispatcher.unbegun.name(ids)
        if held := self._dispatcher.in_hand.rows.keys() & ids:
            self._doubted |= held
            self.wake()

    async def _session(self) -> Connection:
        """Returns the renewer's own connection or, if the server accepts no new one, another of the worker's."""
        try:
            return await self._link.get()
        except (psycopg.Error, OSError):
            for link in self._others:
                if connection := link.open:
                    return connection
            raise

    async def turn(self) -> float:
        connection = await self._session()
        if await self._check_doubted(connection) and time.monotonic() < self._renew_at:
            return self._pause()
        self._dispatcher.hand_back_doubted()  # a renewal does not show which rows others have taken
        self._dispatcher.tenure.renewing()
        sure_until = time.monotonic() + SURE * self._lease.total_seconds()
        if not await self._assignment.renew(connection):
            self.events.emit("worker.lost", worker=self._assignment.number, why="the other workers declared it lost")
            self._dispatcher.hand_back()
            await self._rejoin(connection)
        await self._assignment.check_same_server(connection)
        for partition, rows in by_partition(self._dispatcher.in_hand.rows.values()).items():
            await executions.renew(connection, partition, Group.of(rows), self._lease)
        self._dispatcher.tenure.renewed(sure_until)
        for link in self._others:
            await link.drop_unused()
        self._renew_at = time.monotonic() + self._every
        return self._pause()

    def _pause(self) -> float:
        until = self._renew_at - time.monotonic()
        return max(min(until, _LOCKED) if self._dispatcher.unbegun.kept_back else until, 0.0)

    async def _check_doubted(self, connection: Connection) -> bool:
        """Ends the attempts at doubted rows that no longer belong to this worker, and lets the other doubted rows
        begin. Because notifications may be lost, it also checks rows that have been in hand for longer than a renewal
        interval. Returns whether any rows were doubted."""
        unbegun, in_hand = self._dispatcher.unbegun, self._dispatcher.in_hand
        doubted, self._doubted = self._doubted | unbegun.kept_back.keys(), set()
        looked_at = doubted | self._dispatcher.held_since(time.monotonic() - self._every)
        if rows := [row for id in looked_at if (row := in_hand.rows.get(id))]:
            await self._check(connection, rows)
        return bool(doubted)

    async def _check(self, connection: Connection, rows: Sequence[ClaimedExecution]) -> None:
        unbegun, asked_at = self._dispatcher.unbegun, time.monotonic()
        groups = {partition: Group.of(some) for partition, some in by_partition(rows).items()}
        leased = await still_leased(connection, groups)
        gone = [row for row in rows if row.id not in leased]
        self._dispatcher.drop({row.id for row in gone})
        if ordered := [row.id for row in gone if row.ordering_key is not None]:
            await ordering.keep_blocked(connection, ordered, self._lease)
        for row in [row for row in unbegun.copy() if row.id in leased]:
            match await recall(connection, row) if (row.plan or 0) > 0 and row.attempt == 1 else Recall.KEPT:
                case Recall.GONE:
                    self._dispatcher.drop({row.id})
                case Recall.KEPT:
                    self._dispatcher.go_on([row.id], asked_at)
                case Recall.LOCKED:  # the row's job is being changed: keep the row back, and check it again
                    unbegun.name([row.id])
