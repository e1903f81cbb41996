"""Listens for notifications and passes them on.

Every database user may notify on any channel, so a notification is only a hint. While there are few notifications,
``Hints`` passes each one on at once. If thousands arrive per second, ``Hints`` gathers them for some milliseconds and
passes on one of each kind. Notifications beyond a limit of bytes are not parsed, but make the worker look at all
partitions.

Like all of the worker's sessions, the listener's session has the worker's name. When the process dies, its sessions
end, and other workers take back its rows without waiting for the leases to expire.

A broken connection may look alive, so every few seconds the listener sends itself a notification with a secret word. If
the notification does not arrive, the session counts as lost. After each (re)connect, the worker looks at its partitions
once, for rows that were added while it did not listen.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeVar

from psycopg import AsyncConnection, OperationalError

from pgsched.domain.wake_notice import CHANNEL, MOST_ROWS, STOP, parse_notice
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.listening import listen
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import UNIX_TO_WIRE
from pgsched.telemetry import Events
from pgsched.worker.assignment import Assignment

RINGS, WITHIN = 20, 0.1
"""The worker polls instead if ``RINGS`` notifications arrive within ``WITHIN`` seconds."""
_SILENCE, _ECHO_WITHIN = 2.0, 20.0
_APART, _WORDS_APART, _FAR_BACK_APART = 0.005, 0.05, 0.25
_READ_EACH, _READ_BYTES = 0.02, 16_384
_FAR_BACK = 10_000_000  # microseconds; rows further back lie behind dead index entries and take long to read
_MOST_ENDED = 10_000
_AT_ONCE = {STOP: 8, "gates": 4}
"""How many notifications of each of these kinds are passed on without delay. Such a notification keeps rows from
beginning, sometimes only milliseconds before they start."""
_Answer = TypeVar("_Answer")


class Throttle:
    """Calls ``pass_on`` after each ``wake``: at once or, if there were many calls lately, after ``apart`` seconds."""

    def __init__(self, apart: float, pass_on: Callable[[], None], *, at_once: int = 1, within: float = 0.0) -> None:
        self._apart, self._pass_on = apart, pass_on
        self._at_once, self._within = at_once, max(within, apart)
        self._count, self._since = 0, float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        if self._timer is not None:
            return
        now = time.monotonic()
        if now - self._since > self._within:
            self._count, self._since = 0, now
        self._count += 1
        if self._count <= self._at_once:
            self._pass_on()
        else:
            self._timer = asyncio.get_running_loop().call_later(self._apart, self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._pass_on()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class ReadBudget:
    """Limits the number of bytes that are parsed in a short time."""

    def __init__(self) -> None:
        self._read, self._since = 0, float("-inf")

    def may_read(self, size: int) -> bool:
        now = time.monotonic()
        if now - self._since > _READ_EACH:
            self._read, self._since = 0, now
        self._read += size
        return self._read <= _READ_BYTES


class Hints:
    """Passes notifications on by calling functions. ``expect`` gets the partition and instant of announced rows, and
    returns whether the worker claims from the partition. ``ended`` gets the ids of executions that ended or changed.
    ``often`` is called if there are so many notifications that the worker should poll, and ``look`` if the worker must
    look at all partitions. ``changed`` maps each word that a notification may consist of to the function to call."""

    def __init__(
        self,
        *,
        expect: Callable[[int, int], bool],
        often: Callable[[], None],
        look: Callable[[], None],
        changed: Mapping[str, Callable[[], None]],
        ended: Callable[[Collection[bytes]], None],
        now: Callable[[], int],
    ) -> None:
        self._expect, self._often, self._look, self._ended, self._now = expect, often, look, ended, now
        self._words = {
            word: Throttle(_WORDS_APART, wake, at_once=_AT_ONCE.get(word, 1), within=WITHIN * (word in _AT_ONCE))
            for word, wake in changed.items()
        }
        self._rows: dict[int, int] = {}
        self._rings, self._heard, self._heard_since = 0, 0, float("-inf")
        self._unread = False
        self._far_back: dict[int, int] = {}
        self._ids: set[bytes] = set()
        self._near = Throttle(_APART, self._pass_on_rows, at_once=RINGS, within=WITHIN)
        self._far = Throttle(_FAR_BACK_APART, self._pass_on_far_back)
        self._ends = Throttle(_WORDS_APART, self._pass_on_ended, at_once=_AT_ONCE[STOP], within=WITHIN)
        self._tellings, self._stops = ReadBudget(), ReadBudget()

    def take(self, payload: str) -> None:
        if payload in self._words:
            self._words[payload].wake()
        elif payload.startswith(STOP):
            if self._stops.may_read(len(payload)):  # if not, the next renewal notices the change
                self._take_notice(payload)
        elif len(payload) > MOST_ROWS:
            return
        elif self._tellings.may_read(len(payload)):
            self._take_notice(payload)
        else:
            self._unread = True
            self._rings += 1
            self._near.wake()

    def stop(self) -> None:
        """Stops passing notifications on."""
        for pace in (self._near, self._far, self._ends, *self._words.values()):
            pace.stop()

    def _take_notice(self, payload: str) -> None:
        notice = parse_notice(payload)
        long_ago = self._now() - _FAR_BACK
        for partition, since_1970 in notice.rows:
            instant = since_1970 - UNIX_TO_WIRE
            known = self._rows if instant >= long_ago else self._far_back
            known[partition] = min(instant, known.get(partition, instant))
        if notice.ended and len(self._ids) < _MOST_ENDED:
            self._ids.update(notice.ended)
            self._ends.wake()
        if self._far_back:
            self._far.wake()
        if self._rows:
            self._rings += 1
            self._near.wake()

    def _pass_on_rows(self) -> None:
        rows, rings, unread = self._rows, self._rings, self._unread
        self._rows, self._rings, self._unread = {}, 0, False
        served = [self._expect(partition, instant) for partition, instant in rows.items()]
        if unread or any(served):
            self._hear(RINGS if unread else rings)
        if unread:
            self._look()

    def _pass_on_far_back(self) -> None:
        rows, self._far_back = self._far_back, {}
        served = [self._expect(partition, instant) for partition, instant in rows.items()]
        if any(served):
            self._hear(1)

    def _hear(self, rings: int) -> None:
        """Counts notifications of rows in the worker's partitions. Calls ``often`` if there are too many."""
        now = time.monotonic()
        if now - self._heard_since > WITHIN:
            self._heard, self._heard_since = 0, now
        self._heard += rings
        if self._heard >= RINGS:
            self._heard = 0
            self._often()

    def _pass_on_ended(self) -> None:
        ids, self._ids = self._ids, set()
        self._ended(ids)


class Listener(Service):
    """Passes notifications to ``hints``, and calls ``joined`` after each (re)connect."""

    name = "listener"
    first_pause = 0.02
    longest_pause = 1.0

    def __init__(
        self,
        link: Link,
        assignment: Assignment,
        events: Events,
        *,
        joined: Callable[[], None],
        hints: Hints,
        listen: bool = True,
        every: float = 5.0,
    ) -> None:
        super().__init__(events)
        self._link, self._assignment = link, assignment
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
        await self._assignment.join(connection)
        if self._listen:
            await listen(connection, CHANNEL)
            await listen(connection, self._assignment.channel)
        self._joined()

    async def _hear(self, connection: AsyncConnection[Any]) -> None:
        """Passes on notifications for some seconds, and then checks that notifications still arrive."""
        async for notification in connection.notifies(timeout=self._every):
            if notification.channel == CHANNEL:
                self._hints.take(notification.payload)
            if self.stopping:
                return
        await self._hear_itself(connection)

    async def _hear_itself(self, connection: AsyncConnection[Any]) -> None:
        """Sends the listener a notification and waits for it. If there are many other notifications, this may take a
        while; the connection is alive as long as any notification arrives."""
        word = secrets.token_hex(8)
        parameters = {"channel": self._assignment.channel, "said": word}
        sent = await self._within(connection.execute(statement("core/notify"), parameters))
        if not sent.rowcount:  # nothing was sent, because the notification queue is filling up; the reply must suffice
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
