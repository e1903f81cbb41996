"""The time that a request may wait for the database, and for other requests."""

import asyncio
from typing import Self

from pgsched.errors import Unavailable

_CANCELLING = 0.5  # seconds in which a server that is still there cancels a statement


class Deadline:
    """Has the block raise Unavailable when it takes longer, counted from its start. The driver then asks the server to
    cancel its statement, and would wait for that as long as for an answer: so it is stopped once more, and closes the
    connection.

    It is ``asyncio.timeout`` for several bounds after one another, with one timer: each request has these.
    """

    def __init__(self, seconds: float, otherwise: str) -> None:
        self._seconds, self._otherwise = seconds, otherwise
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._stopped = 0

    async def __aenter__(self) -> Self:
        task = asyncio.current_task(self._loop)
        assert task is not None, "a connection is lent to a task"
        self._task, self._cancelling = task, task.cancelling()
        self._timer = self._loop.call_at(self._started + self._seconds, self._look)
        return self

    def extend(self, seconds: float, otherwise: str) -> None:
        """Sets the bound that counts from now on, also from the block's start. It is no shorter than the one before."""
        self._seconds, self._otherwise = seconds, otherwise

    def _look(self) -> None:
        until = self._started + self._seconds
        if self._loop.time() < until:
            self._timer = self._loop.call_at(until, self._look)
            return
        self._stopped += 1
        self._task.cancel()
        if self._stopped == 1:
            self._timer = self._loop.call_later(_CANCELLING, self._look)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        asked = self._task.cancelling()
        for _stop in range(self._stopped):
            asked = self._task.uncancel()
        if self._stopped and asked <= self._cancelling and kind is asyncio.CancelledError:
            raise Unavailable(f"{self._otherwise} within {self._seconds:g} s: try again") from None
