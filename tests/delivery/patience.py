"""A caller that waits for a place, as a worker does, in the order in which calls came."""

import asyncio
from collections import deque

from pgsched.delivery.channel import Channel
from pgsched.delivery.places import NoPlace, Places
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.outcome import Outcome
from pgsched.domain.policy import Options


class Patient:
    """Delivers by a channel as soon as there is a place."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: dict[Places, deque[asyncio.Future[None]]] = {}

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        while True:
            try:
                return await self._channel.deliver(execution, options, deadline)
            except NoPlace as full:
                await self._wait(full.places)

    async def _wait(self, places: Places) -> None:
        turn = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(places, deque())
        waiting.append(turn)
        places.freed = self._freed
        try:
            await turn
        except asyncio.CancelledError:
            if turn in waiting:
                waiting.remove(turn)
            else:
                self._freed(places)
            raise

    def _freed(self, places: Places) -> None:
        waiting = self._waiting[places]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if not waiting:
            places.freed = None
