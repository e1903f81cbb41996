"""The connections to one origin.

A slot is the right to one connection. It is held, in this order, by the exchange that opens the connection and by the
open connection itself. An exchange that finds every slot taken and no connection parked does not begin (``slots``
says who waits, and how clients share the connections).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from pgsched.delivery.connection import Connection
from pgsched.delivery.exchange import Exchange
from pgsched.delivery.slots import Slots, alone
from pgsched.delivery.url import Origin


class PoolState:
    """The state that all origins of a pool share: every open connection, the parked ones with the moment they were
    parked (oldest first), and how many slots are taken in all."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.hosts: dict[Origin, OriginSlots] = {}
        self.sockets: set[Connection] = set()
        self.parked: OrderedDict[Connection, float] = OrderedDict()
        self.slots = 0
        self._last_closed: asyncio.Future[None] | None = None

    async def emptied(self) -> None:
        """Returns once no socket is open."""
        if self.sockets:
            self._last_closed = self.loop.create_future()
            await self._last_closed

    def closed(self, connection: Connection) -> None:
        """The socket is closed."""
        self.sockets.discard(connection)
        if self._last_closed and not self._last_closed.done() and not self.sockets:
            self._last_closed.set_result(None)


class OriginSlots(Slots):
    """At most ``most`` slots. Leaves the state when no slot is taken and nobody waits, and is not used
    afterwards."""

    def __init__(self, origin: Origin, state: PoolState, *, most: int, is_shared: Callable[[], bool] = alone) -> None:
        super().__init__(f"connections to {origin.host}:{origin.port}", most, is_shared=is_shared)
        self.origin = origin
        self._state = state
        self._parked: list[Connection] = []
        state.hosts[origin] = self

    @property
    def free(self) -> int:
        return self.most - self.taken + len(self._parked)

    def begin(self, exchange: Exchange, client: str) -> None:
        """Starts the exchange on a parked connection, or gives it a slot; the caller has just seen that there is one
        for the client, and must call ``over`` afterwards."""
        self._count(client)
        if exchange.once and self._parked:
            self._begin_afresh(exchange)
        elif self._parked:
            # The last one in: those that are not needed grow old and are closed.
            connection = self._parked.pop()
            del self._state.parked[connection]
            connection.start(exchange)
        else:
            self.taken += 1
            self._state.slots += 1
            exchange.offer_slot()

    def over(self, client: str) -> None:
        """An exchange of this client has ended, and nobody awaits it."""
        self._discount(client)
        self.tell()

    def _begin_afresh(self, exchange: Exchange) -> None:
        """Gives it a slot of its own, if need be that of the connection parked for longest."""
        self.taken += 1
        self._state.slots += 1
        if self.taken > self.most:
            self._parked[0].discard(politely=True)
        exchange.offer_slot()

    def leave(self, exchange: Exchange) -> None:
        """Gives up an exchange that nobody awaits any more. Its connection is not used again."""
        turn = exchange.turn
        if exchange.connection is not None:
            exchange.connection.discard()
        elif turn.done() and not turn.cancelled() and turn.result():
            self.vacate()

    def opened(self, connection: Connection) -> None:
        """The connection is in use from now on."""
        self._state.sockets.add(connection)

    def closed(self, connection: Connection) -> None:
        """The socket of the connection is closed."""
        self._state.closed(connection)

    def release(self, connection: Connection) -> None:
        """Parks the connection for the next exchange."""
        now = self._state.loop.time()
        if now >= connection.retires:
            connection.discard(politely=True)
            return
        self._parked.append(connection)
        self._state.parked[connection] = now

    def unpark(self, connection: Connection) -> None:
        """The connection is no longer available, if it was parked."""
        if self._state.parked.pop(connection, None) is not None:
            self._parked.remove(connection)

    def vacate(self) -> None:
        """A slot has become free."""
        self.taken -= 1
        self._state.slots -= 1
        self.retire()

    def retire(self) -> None:
        """Leaves the state, if nothing is left to do here."""
        if not self.taken and self.freed is None:
            self._state.hosts.pop(self.origin, None)
