"""How many begin something in one turn of the event loop, where each costs the loop its time."""

import asyncio
from collections import deque


class Turnstile:
    """Lets ``most`` pass in each turn of the loop; those who wait pass client by client, one of each at a time. So
    hundreds who come at once keep the loop from nobody for longer than ``most`` take, and whose client has but one
    waits for none of the others."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._is_turning = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def enter(self, client: str) -> None:
        """Returns when it is the caller's turn."""
        loop = asyncio.get_running_loop()
        if not self._is_turning:
            self._is_turning = True
            loop.call_soon(self._turn, loop)
        if self._left > 0 and not self._waiting:
            self._left -= 1
            return
        place = loop.create_future()
        self._waiting.setdefault(client, deque()).append(place)
        await place

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._most
        self._is_turning = bool(self._waiting)
        while self._waiting and self._left:
            self._let_next()
        if self._is_turning:
            loop.call_soon(self._turn, loop)

    def _let_next(self) -> None:
        client = next(iter(self._waiting))
        places = self._waiting.pop(client)
        place = places.popleft()
        if places:
            self._waiting[client] = places  # behind the others
        if not place.done():  # else its attempt was cancelled meanwhile
            place.set_result(None)
            self._left -= 1
