"""Listens for notifications, in the session by which others see that the worker lives.

Every database user may notify on any channel, so a notification is only a hint, which ``Hints`` passes on at a bounded
rate.

The session carries the worker's name, as all of its sessions do: when the process dies they end, and the others take
its rows back without waiting for the lease. A connection that was cut may look alive, so the listener sends itself a
notification every few seconds, with a word that nobody else can know, and takes a missing answer for a lost session.
After each (re)connect the worker looks at its partitions once, for rows that came while nobody listened.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from psycopg import AsyncConnection, OperationalError

from pgsched.domain.notification import CHANNEL
from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.listening import listen
from pgsched.store.core.sql import statement
from pgsched.worker.claim.hints import Hints
from pgsched.worker.roster import Roster

_SILENCE, _ECHO_WITHIN = 2.0, 20.0
_Answer = TypeVar("_Answer")


class Listener(Service):
    """Gives notifications to ``hints``; ``joined`` is called after each (re)connect."""

    name = "listener"
    first_pause = 0.02
    longest_pause = 1.0

    def __init__(
        self,
        link: Link,
        roster: Roster,
        events: Events,
        *,
        joined: Callable[[], None],
        hints: Hints,
        listen: bool = True,
        every: float = 5.0,
    ) -> None:
        super().__init__(events)
        self._link, self._roster = link, roster
        self._joined, self._hints = joined, hints
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

    async def close(self) -> None:
        self._hints.stop()
        await self._link.drop()

    async def _join(self, connection: Connection) -> None:
        await self._roster.join(connection)
        if self._listen:
            await listen(connection, CHANNEL)
            await listen(connection, self._roster.channel)
        self._joined()

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        """Passes on the notifications of the next seconds, then makes sure that notifications arrive."""
        async for notification in connection.notifies(timeout=self._every):
            if notification.channel == CHANNEL:
                self._hints.take(notification.payload)
            if self.stopping:
                return
        await self._hear_itself(connection)

    async def _hear_itself(self, connection: AsyncConnection[Any]) -> None:
        """Sends itself a notification and waits for it. Behind many others it takes a while; as long as others come,
        the connection is not silent."""
        word = secrets.token_hex(8)
        parameters = {"channel": self._roster.channel, "word": word}
        sent = await self._within(connection.execute(statement("core/notify_itself"), parameters))
        if not sent.rowcount:  # the queue of notifications is not being emptied; that the database answers must do
            return
        until = time.monotonic() + _ECHO_WITHIN
        heard = True
        while heard and time.monotonic() < until:
            heard = False
            async for notification in connection.notifies(timeout=_SILENCE):
                if notification.channel == CHANNEL:
                    heard = True
                    self._hints.take(notification.payload)
                elif notification.payload == word:
                    return
        raise OperationalError("the listener did not hear its own notification")

    async def _within(self, answer: Awaitable[_Answer]) -> _Answer:
        async with asyncio.timeout(2.0):
            return await answer
