"""Plans the rows of backfills: in each turn as many as their rates allow for the next second. They run behind other
work."""

from collections.abc import Sequence
from uuid import UUID

from pgsched.store.core.connect import Connection
from pgsched.store.jobs import backfill_chunks
from pgsched.upkeep.advancing import Advancing

_CHUNK = 250
_CHUNKS = 20  # in one turn of one backfill, so that the others have a turn


class Backfiller(Advancing):
    """Woken when a backfill is started."""

    name = "backfiller"
    rest = 3.0  # any login can wake it by a notification

    async def any_active(self, connection: Connection) -> bool:
        return await backfill_chunks.any_active(connection)

    async def active(self, connection: Connection) -> Sequence[UUID]:
        return await backfill_chunks.active(connection)

    async def give_up(self, id: UUID, error: Exception) -> None:
        if await backfill_chunks.give_up(await self._link.get(), id, error):
            self.events.emit("backfill.invalid", backfill=str(id), reason=str(error)[:200])

    async def advance(self, id: UUID) -> bool:
        for _ in range(_CHUNKS):
            chunk = await backfill_chunks.plan_chunk(await self._link.get(), id, most=_CHUNK)
            if chunk.fault is not None:
                self.events.emit("backfill.invalid", backfill=str(id), reason=chunk.fault)
            elif chunk.finished:
                self.events.emit("backfill.finished", backfill=str(id))
            if not chunk.more:
                return False
        return True
