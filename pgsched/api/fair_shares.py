"""Shares of what the requests of all clients need, such as connections: counted by client, not by key."""

import asyncio
from collections import Counter

from pgsched.domain.round_robin import Payers, Turns

_TO_ONE_FREE = 3


class FairShares:
    """At most ``most`` of something, and at most ``each`` for one client, whatever keys it comes with. Who waits gets
    the next in turn, those first who have least."""

    def __init__(self, most: int, each: int) -> None:
        self._most, self._each, self._taken = most, each, 0
        self._by_client = Counter[str]()
        self._turns = Turns[asyncio.Future[None]]()

    def has(self, payers: Payers) -> int:
        """The most that any of these clients has."""
        return max((self._by_client[client] for client in payers), default=0)

    def has_room(self, payers: Payers) -> bool:
        return self._taken < self._most and self.has(payers) < self._each

    def take_now(self, payers: Payers) -> bool:
        """Whether there was one to be had without waiting. Of what is free a client may have three times as many, so
        that there is something left for whoever comes next."""
        has = self.has(payers)
        if not self.has_room(payers) or (has and has >= _TO_ONE_FREE * (self._most - self._taken - 1)):
            return False
        self._count(payers)
        return True

    async def take(self, payers: Payers) -> None:
        """Returns once it has one; who waits for the share of its own client keeps nobody else waiting."""
        if self.has_room(payers):  # then nobody who waits could have it
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
        """It goes to whoever is next."""
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
