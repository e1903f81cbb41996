"""Services that carry out a long request in parts: a backfill, or a bulk change of dead letters or executions.

There is one turn a second while any request is active. Otherwise the service looks every few seconds, on the connection
that it shares with other chores; it opens a connection of its own only while there is work.
"""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.isolation import is_a_lock, is_of_a_row, took_too_long
from pgsched.store.ends import bulk_chunks
from pgsched.store.jobs import backfill_chunks

_EVERY, _LOOK_EVERY = 1.0, 10.0
# A turn does no more chunks than these of one request, so that the others have a turn.
_CHUNK, _BACKFILL_CHUNKS, _BULK_CHUNKS = 250, 20, 100


class Advancing(Service):
    """Subclasses say which requests are active, and how to do the next part of one."""

    active: Callable[[Connection], Awaitable[Sequence[UUID]]]
    """Finds the active requests; asked on the shared connection."""
    longest_turn = 300.0
    rest = 3.0  # any login can wake it by a notification

    def __init__(self, chores: Link, link: Link, events: Events) -> None:
        super().__init__(events, chores, link)
        self._chores, self._link = chores, link

    async def turn(self) -> float:
        active = await self.active(await self._chores.get())
        if not active:
            await self._link.drop()
            return _LOOK_EVERY
        again = False
        for id in active:
            again |= await self._advance(id)
        return 0.0 if again else _EVERY

    async def _advance(self, id: UUID) -> bool:
        """Advances one request; its failure does not affect the others."""
        try:
            return await self.advance(id)
        except Exception as error:
            if not is_of_a_row(error):
                raise
            self.events.emit("service.failed", service=self.name, error=f"{id}: {error}"[:500])
            if not is_a_lock(error) and not took_too_long(error):
                await self.give_up(id, error)
            return False

    async def give_up(self, id: UUID, error: Exception) -> None:
        """Ends a request that cannot be carried on."""
        raise NotImplementedError

    async def advance(self, id: UUID) -> bool:
        """Does the next part of it. Returns whether there is more to do at once."""
        raise NotImplementedError


class Backfiller(Advancing):
    """Plans the rows of backfills: in each turn as many as their rates allow for the next second. They run behind other
    work. Woken when a backfill is started."""

    name = "backfiller"
    active = staticmethod(backfill_chunks.active)

    async def give_up(self, id: UUID, error: Exception) -> None:
        if await backfill_chunks.give_up(await self._link.get(), id, error):
            self.events.emit("backfill.invalid", backfill=str(id), reason=str(error)[:200])

    async def advance(self, id: UUID) -> bool:
        for _ in range(_BACKFILL_CHUNKS):
            chunk = await backfill_chunks.plan_chunk(await self._link.get(), id, most=_CHUNK)
            if chunk.fault is not None:
                self.events.emit("backfill.invalid", backfill=str(id), reason=chunk.fault)
            elif chunk.finished:
                self.events.emit("backfill.finished", backfill=str(id))
            if not chunk.more:
                return False
        return True


class BulkChanger(Advancing):
    """Replays many dead letters, cancels or reschedules many executions, each request at its rate. Woken when one is
    made."""

    name = "bulk_changer"
    active = staticmethod(bulk_chunks.active)

    async def give_up(self, id: UUID, error: Exception) -> None:
        if await bulk_chunks.give_up(await self._link.get(), id, error):
            self.events.emit("bulk_change.given_up", change=str(id), reason=str(error)[:200])

    async def advance(self, id: UUID) -> bool:
        for _ in range(_BULK_CHUNKS):
            chunk = await bulk_chunks.advance(await self._link.get(), id)
            if chunk.finished:
                self.events.emit("bulk_change.finished", change=str(id))
            if not chunk.more:
                return False
        return True
