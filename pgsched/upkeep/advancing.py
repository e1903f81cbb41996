"""What is asked for as a whole and done in parts, each at its pace: turns that advance all of it.

One turn a second while there is any. Without, a look every few seconds on the connection of the chores: a connection
for itself it has only while there is something to do.
"""

from collections.abc import Sequence
from uuid import UUID

from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.isolation import is_a_lock, is_of_a_row, took_too_long


class Advancing(Service):
    """Subclasses say what there is to advance, and what is one's part of a turn."""

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
        """What one of them fails by is no matter of the others."""
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
        """It cannot be advanced."""

    async def any_active(self, connection: Connection) -> bool:
        """Whether there is anything to advance; asked on the connection of the chores."""
        raise NotImplementedError

    async def active(self, connection: Connection) -> Sequence[UUID]:
        """What there is to advance."""
        raise NotImplementedError

    async def advance(self, id: UUID) -> bool:
        """Does as much of it as is its turn; whether the rest need not wait."""
        raise NotImplementedError
