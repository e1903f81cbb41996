"""Carries out bulk operations, chunk by chunk.

While an operation is active, a turn follows every second. While none is active, the service polls every few seconds,
and keeps no connection of its own.

Clients share the time. The next chunk is for the client that has had the least time, and for the client's operation
that has waited longest. So a client with a hundred operations delays other clients no more than a client with one
operation.
"""

import time
from collections.abc import Sequence
from uuid import UUID

from pgsched.domain.round_robin import Turns
from pgsched.errors import InvalidSchedule
from pgsched.service import Service
from pgsched.store.bulk import advancing
from pgsched.store.bulk.operation_types import Active, Chunk
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.culprits import is_a_lock, is_of_a_row, took_too_long
from pgsched.telemetry import Events

_EVERY, _LOOK_EVERY = 1.0, 10.0
_TURN = 1.0  # seconds after which a turn ends, so that the next turn finds new operations


class Bulk(Service):
    """Carries out bulk operations, each at its own rate. The service is woken when an operation is requested."""

    name = "bulk"
    longest_turn = 300.0
    rest = 3.0  # limits wake-ups, because any login can wake this service with a notification

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
            payers, one = found
            began = time.monotonic()
            if await self._advance(one):
                turns.add(payers, one)
            now = self._advanced[one.id] = time.monotonic()
            for client in payers:
                self._had[client] += now - began
            if now >= until and turns:
                return 0.0
        return _EVERY

    def _turns(self, active: Sequence[Active]) -> Turns[Active]:
        """Queues the operations for their next chunk. A new client starts with the least time that any client has
        used."""
        clients = frozenset().union(*(one.payers for one in active))
        least = min((had for client, had in self._had.items() if client in clients), default=0.0)
        self._had = {client: self._had.get(client, least) - least for client in clients}
        self._advanced = {one.id: self._advanced.get(one.id, float("-inf")) for one in active}
        turns = Turns[Active]()
        for one in sorted(active, key=lambda one: self._advanced[one.id]):
            turns.add(one.payers, one)
        return turns

    async def _advance(self, one: Active) -> bool:
        """Advances one operation, whose failure affects no others. Returns whether it can continue at once."""
        try:
            chunk = await self.advance(one)
        except (InvalidSchedule, OverflowError) as error:  # the backfilled job is no longer valid
            await self._give_up(one, error)
            return False
        except Exception as error:
            if not is_of_a_row(error):
                raise
            self.events.emit("service.failed", service=self.name, error=f"{one.id}: {error}"[:500])
            if not is_a_lock(error) and not took_too_long(error):
                await self._give_up(one, error)
            return False
        if chunk.finished:
            self.events.emit("bulk.finished", operation=str(one.id), action=one.action)
        return chunk.more

    async def _give_up(self, one: Active, error: Exception) -> None:
        if await advancing.give_up(await self._link.get(), one.id, error):
            said = {"operation": str(one.id), "action": one.action, "reason": str(error)[:200]}
            self.events.emit("bulk.given_up", **said)

    async def active(self, connection: Connection) -> Sequence[Active]:
        """Reads the unfinished operations, on the shared connection."""
        return await advancing.active(connection)

    async def advance(self, one: Active) -> Chunk:
        """Processes the operation's next chunk."""
        return await advancing.advance(await self._link.get(), one)
