"""Services that carry out a long request in parts: a backfill, or a bulk change of dead letters or executions.

There is one turn a second while any request is active. Otherwise the service looks every few seconds, on the connection
that it shares with other chores; it opens a connection of its own only while there is work.

Clients share the time: the next part is one of the client that has had least, and of its requests the one that has
waited longest. So a client's hundred requests keep a neighbour's one waiting no longer than one of them would.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from pgsched.domain.round_robin import Turns
from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import internal
from pgsched.store.core.active import Active
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.isolation import is_a_lock, is_of_a_row, took_too_long
from pgsched.store.ends import bulk_chunks
from pgsched.store.jobs import backfill_chunks

_EVERY, _LOOK_EVERY = 1.0, 10.0
_TURN = 1.0  # seconds after which it looks whether there are other requests
_CHUNK = 250


class Advancing(Service):
    """Subclasses say which requests are active, and how to do the next part of one."""

    active: Callable[[Connection], Awaitable[Sequence[Active]]]
    """Finds the active requests; asked on the shared connection."""
    longest_turn = 300.0
    rest = 3.0  # any login can wake it by a notification

    def __init__(self, chores: Link, link: Link, events: Events) -> None:
        super().__init__(events, chores, link)
        self._chores, self._link = chores, link
        self._had: dict[str, float] = {}
        self._advanced: dict[UUID, float] = {}

    async def turn(self) -> float:
        active = await self.active(await self._chores.get())
        if not active:
            await self._link.drop()
            return _LOOK_EVERY
        turns, until = self._turns(active), time.monotonic() + _TURN
        while found := turns.take(has=lambda payers: max(self._had[client] for client in payers)):
            payers, id = found
            began = time.monotonic()
            if await self._advance(id):
                turns.add(payers, id)
            now = self._advanced[id] = time.monotonic()
            for client in payers:
                self._had[client] += now - began
            if now >= until and turns:
                return 0.0
        return _EVERY

    def _turns(self, active: Sequence[Active]) -> Turns[UUID]:
        """Those that wait for their next part. A client that comes anew has had as much as the one with least."""
        clients = frozenset().union(*(one.payers for one in active))
        least = min((had for client, had in self._had.items() if client in clients), default=0.0)
        self._had = {client: self._had.get(client, least) - least for client in clients}
        self._advanced = {one.id: self._advanced.get(one.id, float("-inf")) for one in active}
        turns = Turns[UUID]()
        for one in sorted(active, key=lambda one: self._advanced[one.id]):
            turns.add(one.payers, one.id)
        return turns

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
        chunk = await backfill_chunks.plan_chunk(await self._link.get(), id, most=_CHUNK)
        if chunk.fault is not None:
            self.events.emit("backfill.invalid", backfill=str(id), reason=chunk.fault)
        elif chunk.finished:
            self.events.emit("backfill.finished", backfill=str(id))
        return chunk.more


class BulkChanger(Advancing):
    """Replays many dead letters, cancels or reschedules many executions, each request at its rate. Woken when one is
    made."""

    name = "bulk_changer"
    active = staticmethod(bulk_chunks.active)

    async def give_up(self, id: UUID, error: Exception) -> None:
        if await bulk_chunks.give_up(await self._link.get(), id, error):
            self.events.emit("bulk_change.given_up", change=str(id), reason=str(error)[:200])

    async def advance(self, id: UUID) -> bool:
        chunk = await internal.advance_bulk_change(await self._link.get(), id, most=bulk_chunks.MOST)
        if chunk.finished:
            self.events.emit("bulk_change.finished", change=str(id))
        return chunk.more
