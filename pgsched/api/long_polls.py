"""Long polls: requests that wait for executions to become due in a queue, without polling the database themselves.

All requests share one connection, which listens for the workers' notifications. The requests for one queue also share
one poll per second, which finds executions that were not notified.

A due execution wakes one request; the clients take turns. The execution may belong to another client, so each request
wakes the next one after its claim, even if the claim was empty. After an empty claim, no other request for the same
clients claims until more executions are due. So one execution does not cause a hundred claims.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncConnection

from pgsched.api.connection_pool import Database
from pgsched.domain.queue_partitions import queue_of
from pgsched.domain.round_robin import Payers, Turns
from pgsched.domain.wake_notice import CHANNEL, parse_notice
from pgsched.errors import PgschedError, Unavailable
from pgsched.store import internal_verbs
from pgsched.store.core.listening import listen
from pgsched.store.core.pooler import has_sessions
from pgsched.store.core.session_settings import KEPT_ALIVE, KEPT_ALIVE_BY_THE_SERVER, pin
from pgsched.telemetry import Events

_RESUMED = "queues"  # sent, for example, when a paused queue is resumed
_LOOK_EVERY = 1.0
_REST = 3.0  # minimum pause after a poll, relative to its duration, because anybody who can connect can cause polls


class PolledQueue:
    """The requests that wait for one queue, served in order of arrival within each client."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self._turns = Turns[asyncio.Future[int]]()
        self._in_vain = set[Payers]()
        self._came = 1
        self.told = asyncio.Event()
        self.users = 0
        self.task: asyncio.Task[None] | None = None

    def come(self) -> None:
        """Records that an execution is due, and wakes a request. The execution may belong to any client, so every
        waiting request may claim again."""
        self._came += 1
        self._in_vain.clear()
        self.wake_one()

    def wake_one(self) -> None:
        """Wakes the next request, but skips clients whose last claim was empty."""
        while found := self._turns.take(lambda payers: payers not in self._in_vain):
            if not found[1].done():
                found[1].set_result(self._came)
                return

    def pass_on(self, payers: Payers, turn: int, *, in_vain: bool) -> None:
        """Ends a request's turn, and wakes the next request."""
        if in_vain and turn == self._came:  # if not, more executions have become due since this request was woken
            self._in_vain.add(payers)
        self.wake_one()

    async def wait(self, payers: Payers, seconds: float) -> int:
        """Waits for this request's turn to claim. Returns the number of the turn, which the request must pass on, or 0
        after ``seconds``."""
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._turns.add(payers, turn)
        try:
            async with asyncio.timeout(seconds):
                return await turn
        except TimeoutError:
            return turn.result() if turn.done() and not turn.cancelled() else 0
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.wake_one()
            raise
        finally:
            self._turns.remove(payers, turn)


class LongPolls:
    """The long polls of a process. Its connection is open only while requests wait."""

    def __init__(self, url: str, database: Database, events: Events) -> None:
        self._url, self._database, self._events = url, database, events
        self._queues: dict[str, PolledQueue] = {}
        self._listening: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def queue(self, name: str, number: int) -> AsyncIterator[PolledQueue]:
        """Yields an object with which to wait for the queue that begins at the partition ``number``."""
        queue = self._queues.setdefault(name, PolledQueue(name, number))
        queue.users += 1
        if queue.task is None:
            queue.task = asyncio.create_task(self._look(queue))
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        try:
            yield queue
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[name]
                queue.task.cancel()
            if not self._queues and self._listening is not None:
                self._listening.cancel()
                self._listening = None

    async def _look(self, queue: PolledQueue) -> None:
        """Polls a queue, and wakes a request whenever an execution is due."""
        while True:
            queue.told.clear()
            due, started = None, time.monotonic()
            with contextlib.suppress(PgschedError):
                due = await self._database.ask(internal_verbs.until_next, queue.name)
            if due is not None and due <= 0:
                queue.come()
            pause = _LOOK_EVERY if due is None or due <= 0 else min(due, _LOOK_EVERY)
            rest = min(pause, _REST * (time.monotonic() - started))
            await asyncio.sleep(rest)
            pause -= rest
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await queue.told.wait()

    async def _listen(self) -> None:
        while True:
            try:
                if not await has_sessions(self._url):  # this pooler does not support LISTEN: only the poll remains
                    return
                async with await AsyncConnection.connect(
                    self._url, autocommit=True, **(KEPT_ALIVE | {"application_name": "pgsched api listen"})
                ) as connection:
                    await pin(connection, KEPT_ALIVE_BY_THE_SERVER)
                    await listen(connection, CHANNEL)
                    for queue in self._queues.values():
                        queue.told.set()
                    async for notification in connection.notifies():
                        self._pass_on(notification.payload)
            except (psycopg.Error, Unavailable) as error:
                self._events.emit("listener.lost", error=str(error)[:200])
            await asyncio.sleep(_LOOK_EVERY)

    def _pass_on(self, payload: str) -> None:
        told = {queue_of(partition) for partition, _ in parse_notice(payload).rows}
        for queue in self._queues.values():
            if payload == _RESUMED or queue_of(queue.number) in told:
                queue.told.set()
