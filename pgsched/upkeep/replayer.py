"""Replays many dead letters, each replay at its rate.

One turn a second while there is a replay. Without one, a look every few seconds on the connection of the chores: a
connection for itself it has only while there is something to do.
"""

from uuid import UUID

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import replay_chunks
from pgsched.store.connect import Link

_CHUNKS = 100  # in one turn of one replay: then the others have theirs


class Replayer(Service):
    """Woken when a replay of many is asked for."""

    name = "replayer"
    longest_turn = 300.0

    def __init__(
        self, chores: Link, link: Link, events: Events, *, every: float = 1.0, look_every: float = 10.0
    ) -> None:
        super().__init__(events)
        self._chores, self._link, self._every, self._look_every = chores, link, every, look_every

    async def turn(self) -> float:
        if not await replay_chunks.any_active(await self._chores.get()):
            await self._link.drop()
            return self._look_every
        again = False
        for id in await replay_chunks.active(await self._link.get()):
            again |= await self._advance(id)
        return 0.0 if again else self._every

    async def recover(self, error: Exception) -> None:
        await self._chores.drop(error)
        await self._link.drop(error)

    async def _advance(self, id: UUID) -> bool:
        """Replays as much as is its turn; whether the rest need not wait."""
        for _ in range(_CHUNKS):
            chunk = await replay_chunks.advance(await self._link.get(), id)
            if chunk.finished:
                self.events.emit("replay.finished", replay=str(id))
            if not chunk.more:
                return False
        return True
