"""Listens for notifications, and is the session whose life stands for the worker's.

The session holds the worker's advisory lock: when the process dies, the lock goes with it, and the others take its rows
back without waiting for the lease. A cut connection looks dead without an error, so the listener sends itself a
notification every few seconds and takes a missing answer for a lost session. After every (re)connect the partitions
are looked at once, for what came while nobody listened.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, OperationalError, sql

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.connect import Connection, Link
from pgsched.worker.roster import Roster

CHANNEL = "pgsched_wake"
_STOP = "stop "
_UNIX_TO_WIRE = 946_684_800_000_000  # microseconds from 1970 to 2000


class Waker(Service):
    """Tells the claimer which rows came in, and that it was rung; ``changed`` says whom each other payload wakes.

    ``stop_row`` is told of each execution whose run was ended in the database.
    """

    name = "waker"
    first_pause = 0.02
    longest_pause = 1.0

    def __init__(
        self,
        link: Link,
        roster: Roster,
        events: Events,
        *,
        joined: Callable[[], None],
        expect: Callable[[int, int], bool],
        rung: Callable[[], None],
        changed: Mapping[str, Callable[[], None]],
        stop_row: Callable[[bytes], None],
        listen: bool = True,
        every: float = 5.0,
    ) -> None:
        super().__init__(events)
        self._link, self._roster = link, roster
        self._joined, self._expect, self._rung, self._changed = joined, expect, rung, changed
        self._stop_row = stop_row
        self._listen, self._every = listen, every
        self._on: Connection | None = None

    async def turn(self) -> float:
        connection = await self._link.get()
        if connection is not self._on:
            await self._join(connection)
            self._on = connection
        if not self._listen:
            await self._within(connection.execute("select 1"))
            return self._every
        await self._hear(connection)
        return 0.0

    async def recover(self, error: Exception) -> None:
        self._on = None
        self.events.emit("listener.lost", error=str(error)[:200])
        await self._link.drop()

    async def rejoin(self) -> None:
        """The worker was declared lost: registers anew on the next turn."""
        self._on = None

    async def close(self) -> None:
        await self._link.drop()

    async def _join(self, connection: Connection) -> None:
        await self._roster.join(connection)
        if self._listen:
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(CHANNEL)))
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._own_channel)))
        self._joined()

    @property
    def _own_channel(self) -> str:
        return f"pgsched_worker_{self._roster.number}"

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        """Passes on what comes within the time, then makes sure that something can come."""
        async for notification in connection.notifies(timeout=self._every):
            if notification.channel == CHANNEL:
                self._pass_on(notification.payload)
            if self.stopping:
                return
        await self._within(connection.execute("select pg_notify(%s, '')", [self._own_channel]))
        async for notification in connection.notifies(timeout=2.0):
            if notification.channel == self._own_channel:
                return
            self._pass_on(notification.payload)
        raise OperationalError("the listener did not hear its own notification")

    def _pass_on(self, payload: str) -> None:
        if payload in self._changed:
            self._changed[payload]()
            return
        if payload.startswith(_STOP):
            with contextlib.suppress(ValueError):  # whoever may connect may notify
                for id in payload.removeprefix(_STOP).split(","):
                    self._stop_row(UUID(id).bytes)
            return
        served = False
        for item in payload.split(","):
            partition, _, instant = item.partition("@")
            if partition.isdigit() and instant.lstrip("-").isdigit():
                served |= self._expect(int(partition), int(instant) - _UNIX_TO_WIRE)
        if served:
            self._rung()

    async def _within(self, answer: Awaitable[object]) -> None:
        async with asyncio.timeout(2.0):
            await answer
