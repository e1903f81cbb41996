"""Limits one client's use of shared resources: requests per second, connections, and time.

Each process counts separately.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Self

from pgsched.domain.round_robin import Payers, Turns
from pgsched.errors import TooManyRequests, Unavailable

_MANY = 1000  # number of callers above which idle callers are dropped
_TO_ONE_FREE = 3
_CANCELLING = 0.5  # seconds that a reachable server needs to cancel a statement


class RateLimits:
    """Rate limits by the generic cell rate algorithm (ITU-T I.371). The algorithm stores when each caller's next
    request would be due if the caller's requests were evenly spaced."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def take(self, who: str, rate: int, burst: int) -> None:
        """Counts a request by ``who``, such as ``the key 3f9c0a7e51d2b846``. Raises TooManyRequests if it comes
        too early."""
        now = self._clock()
        due = max(self._due.get(who, now), now)
        if due - now > (burst - 1) / rate:
            raise TooManyRequests(
                f"{who} is limited to {rate} request{'s' if rate != 1 else ''} a second: try again in a moment"
            )
        if len(self._due) > _MANY:
            self._due = {other: at for other, at in self._due.items() if at > now}
        self._due[who] = due + 1 / rate


class FairShares:
    """Shares ``most`` units among clients. A client gets at most ``each``, no matter how many keys it uses. A returned
    unit goes to the next waiting request of the client with the fewest units."""

    def __init__(self, most: int, each: int) -> None:
        self._most, self._each, self._taken = most, each, 0
        self._by_client = Counter[str]()
        self._turns = Turns[asyncio.Future[None]]()

    def has(self, payers: Payers) -> int:
        """Returns the highest number of units that one of these clients has."""
        return max((self._by_client[client] for client in payers), default=0)

    def has_room(self, payers: Payers) -> bool:
        return self._taken < self._most and self.has(payers) < self._each

    def take_now(self, payers: Payers) -> bool:
        """Takes a unit without waiting, or returns False. To leave some units for others, refuses a client that already
        has at least three times as many units as would remain free."""
        has = self.has(payers)
        if not self.has_room(payers) or (has and has >= _TO_ONE_FREE * (self._most - self._taken - 1)):
            return False
        self._count(payers)
        return True

    async def take(self, payers: Payers) -> None:
        """Waits for a unit, and takes it. A client that has used up its share does not delay other clients."""
        if self.has_room(payers):  # no waiting request could take this unit
            self._count(payers)
            return
        turn = asyncio.get_running_loop().create_future()
        self._turns.add(payers, turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._turns.remove(payers, turn)
            if turn.done() and not turn.cancelled():
                self.give_back(payers)
            raise

    def give_back(self, payers: Payers) -> None:
        """Returns a unit, and gives it to the next waiting request."""
        self._taken -= 1
        self._by_client.subtract(payers)
        for client in payers:
            if not self._by_client[client]:
                del self._by_client[client]
        self._hand_out()

    def _count(self, payers: Payers) -> None:
        self._taken += 1
        self._by_client.update(payers)

    def _hand_out(self) -> None:
        while found := self._turns.take(self.has_room, has=self.has):
            payers, turn = found
            if not turn.done():
                self._count(payers)
                turn.set_result(None)


class Deadline:
    """Makes a block raise Unavailable if it takes longer than ``seconds``. When the block is cancelled, the driver asks
    the server to cancel the statement, and waits. An unreachable server never cancels it, so the block is cancelled a
    second time, after which the driver closes the connection.

    Unlike ``asyncio.timeout``, one timer serves several successive bounds, because every request needs two.
    """

    def __init__(self, seconds: float, otherwise: str) -> None:
        self._seconds, self._otherwise = seconds, otherwise
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._stopped = 0

    async def __aenter__(self) -> Self:
        task = asyncio.current_task(self._loop)
        assert task is not None, "connections are lent only to tasks"
        self._task, self._cancelling = task, task.cancelling()
        self._timer = self._loop.call_at(self._started + self._seconds, self._look)
        return self

    def extend(self, seconds: float, otherwise: str) -> None:
        """Sets a longer bound, which also counts from the block's start."""
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
