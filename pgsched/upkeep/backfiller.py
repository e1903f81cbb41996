"""Plans the rows of backfills, behind whatever else is due.

One turn a second while there is a backfill, each planning what its rate has for the next second. Without one, a look
every few seconds on the connection of the chores: a connection for itself it has only while there is something to do.
"""

from uuid import UUID

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import backfill_chunks
from pgsched.store.connect import Link

_CHUNK = 250
_CHUNKS = 20  # in one turn of one backfill: then the others have theirs


class Backfiller(Service):
    """Woken when a backfill is started."""

    name = "backfiller"
    longest_turn = 300.0

    def __init__(
        self, chores: Link, link: Link, events: Events, *, every: float = 1.0, look_every: float = 10.0
    ) -> None:
        super().__init__(events)
        self._chores, self._link, self._every, self._look_every = chores, link, every, look_every

    async def turn(self) -> float:
        if not await backfill_chunks.any_active(await self._chores.get()):
            await self._link.drop()
            return self._look_every
        again = False
        for id in await backfill_chunks.active(await self._link.get()):
            again |= await self._advance(id)
        return 0.0 if again else self._every

    async def recover(self, error: Exception) -> None:
        await self._chores.drop(error)
        await self._link.drop(error)

    async def _advance(self, id: UUID) -> bool:
        """Plans as much of a backfill as is its turn; whether the rest need not wait."""
        for _ in range(_CHUNKS):
            chunk = await backfill_chunks.plan_chunk(await self._link.get(), id, most=_CHUNK)
            if chunk.fault is not None:
                self.events.emit("backfill.invalid", backfill=str(id), reason=chunk.fault)
            elif chunk.finished:
                self.events.emit("backfill.finished", backfill=str(id))
            if not chunk.more:
                return False
        return True
