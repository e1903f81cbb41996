"""A caller that waits for a free slot, first come, first served, as a worker does."""

import asyncio
from collections import deque

from pgsched.delivery.channel import Channel
from pgsched.delivery.slots import NoFreeSlot, Slots
from pgsched.domain.attempt_outcome import Outcome
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options


class Patient:
    """Delivers through a channel as soon as a slot is free."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: dict[Slots, deque[asyncio.Future[None]]] = {}

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        while True:
            try:
                return await self._channel.deliver(execution, options, deadline)
            except NoFreeSlot as full:
                await self._wait(full.slots)

    async def _wait(self, slots: Slots) -> None:
        turn = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(slots, deque())
        waiting.append(turn)
        slots.freed = self._freed
        try:
            await turn
        except asyncio.CancelledError:
            if turn in waiting:
                waiting.remove(turn)
            else:
                self._freed(slots)
            raise

    def _freed(self, slots: Slots) -> None:
        waiting = self._waiting[slots]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if not waiting:
            slots.freed = None
