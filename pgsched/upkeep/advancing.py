"""The base of services that carry out a long request in parts, such as a backfill or a replay of many.

There is one turn a second while any request is active. Otherwise the service looks every few seconds, on the connection
that it shares with other chores; it opens a connection of its own only while there is work.
"""

from collections.abc import Sequence
from uuid import UUID

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.isolation import is_a_lock, is_of_a_row, took_too_long


class Advancing(Service):
    """Subclasses say which requests are active, and how to do the next part of one."""

    longest_turn = 300.0

    def __init__(
        self, chores: Link, link: Link, events: Events, *, every: float = 1.0, look_every: float = 10.0
    ) -> None:
        super().__init__(events, chores, link)
        self._chores, self._link, self._every, self._look_every = chores, link, every, look_every

    async def turn(self) -> float:
        if not await self.any_active(await self._chores.get()):
            await self._link.drop()
            return self._look_every
        again = False
        for id in await self.active(await self._link.get()):
            again |= await self._advance(id)
        return 0.0 if again else self._every

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

    async def any_active(self, connection: Connection) -> bool:
        """Whether any request is active; asked on the shared connection."""
        raise NotImplementedError

    async def active(self, connection: Connection) -> Sequence[UUID]:
        """The active requests."""
        raise NotImplementedError

    async def advance(self, id: UUID) -> bool:
        """Does the next part of it. Returns whether there is more to do at once."""
        raise NotImplementedError
