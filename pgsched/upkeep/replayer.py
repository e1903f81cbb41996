"""Replays many dead letters, each replay at its rate."""

from collections.abc import Sequence
from uuid import UUID

from pgsched.store.core.connect import Connection
from pgsched.store.ends import replay_chunks
from pgsched.upkeep.advancing import Advancing

_CHUNKS = 100  # in one turn of one replay, so that the others have a turn


class Replayer(Advancing):
    """Woken when a replay of many is asked for."""

    name = "replayer"
    rest = 3.0  # any login can wake it by a notification

    async def any_active(self, connection: Connection) -> bool:
        return await replay_chunks.any_active(connection)

    async def active(self, connection: Connection) -> Sequence[UUID]:
        return await replay_chunks.active(connection)

    async def give_up(self, id: UUID, error: Exception) -> None:
        if await replay_chunks.give_up(await self._link.get(), id, error):
            self.events.emit("replay.given_up", replay=str(id), reason=str(error)[:200])

    async def advance(self, id: UUID) -> bool:
        for _ in range(_CHUNKS):
            chunk = await replay_chunks.advance(await self._link.get(), id)
            if chunk.finished:
                self.events.emit("replay.finished", replay=str(id))
            if not chunk.more:
                return False
        return True
