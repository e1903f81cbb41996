"""Renews the worker's own lease, the leases of the rows that it has in hand, and the note of the server on which it is.

Rows that are delivered quickly are never renewed. A worker that finds itself declared lost registers anew at once; by
then the rows that it still has in hand belong to others, and their outcomes are refused.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from pgsched.domain.execution import by_partition
from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.live import executions
from pgsched.store.live.executions import Group
from pgsched.worker.claim.leases import SURE
from pgsched.worker.roster import RENEWALS, Roster
from pgsched.worker.run.dispatcher import Dispatcher


class Renewer(Service):
    """One turn every quarter of the lease."""

    name = "renewer"

    def __init__(
        self,
        link: Link,
        roster: Roster,
        dispatcher: Dispatcher,
        events: Events,
        *,
        lease: timedelta,
        rejoin: Callable[[Connection], Awaitable[None]],
    ) -> None:
        super().__init__(events, link)
        self._link, self._roster, self._dispatcher = link, roster, dispatcher
        self._lease, self._rejoin = lease, rejoin
        self._doubted: set[bytes] = set()

    def doubt(self, id: bytes) -> None:
        """Checks whether the run of this execution was ended in the database: any user may have notified."""
        if id in self._dispatcher.in_hand.rows:
            self._doubted.add(id)
            self.wake()

    async def turn(self) -> float:
        connection = await self._link.get()
        await self._stop_ended(connection)
        self._dispatcher.hand_back_doubted()  # a renewal cannot tell which of them others have by now
        self._dispatcher.tenure.renewing()
        sure_until = time.monotonic() + SURE * self._lease.total_seconds()
        if not await self._roster.renew(connection):
            self.events.emit("worker.lost", worker=self._roster.number, why="declared lost by the others")
            self._dispatcher.hand_back()
            await self._rejoin(connection)
        await self._roster.check_in(connection)
        for partition, rows in by_partition(self._dispatcher.in_hand.rows.values()).items():
            await executions.renew(connection, partition, Group.of(rows), self._lease)
        self._dispatcher.tenure.renewed(sure_until)
        return self._lease.total_seconds() / RENEWALS

    async def _stop_ended(self, connection: Connection) -> None:
        """Ends the attempts at doubted rows that do not belong to this worker any more. Notifications may be lost, so
        rows that have been under way since the turn before are doubted, too."""
        doubted, self._doubted = self._doubted, set()
        doubted |= self._dispatcher.running_since(time.monotonic() - self._lease.total_seconds() / RENEWALS)
        rows = [row for id in doubted if (row := self._dispatcher.in_hand.rows.get(id))]
        if rows:
            leased = await executions.still_leased(connection, Group.of(rows))
            for row in rows:
                if row.id not in leased:
                    self._dispatcher.stop_row(row.id)
