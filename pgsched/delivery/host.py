"""The connections to one origin, and who waits for one.

A place is the right to one connection. It is held, in this order, by the exchange that opens the connection and by the
open connection itself; a connection that ends leaves its place to whoever has waited longest. So while anybody waits,
every place is taken and no connection is parked, and whoever comes later cannot overtake.
"""

import asyncio
from collections import OrderedDict, deque

from pgsched.delivery.connection import Connection
from pgsched.delivery.exchange import Exchange, NoAnswer
from pgsched.delivery.url import Origin


class Roster:
    """What the hosts of a pool share: every open connection, the parked ones with the moment they were parked (oldest
    first), and how many places are taken in all."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.hosts: dict[Origin, Host] = {}
        self.sockets: set[Connection] = set()
        self.parked: OrderedDict[Connection, float] = OrderedDict()
        self.places = 0
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


class Host:
    """At most ``most`` places. Leaves the roster with its last place, and is not used afterwards."""

    def __init__(self, origin: Origin, roster: Roster, *, most: int) -> None:
        self.origin = origin
        self._roster, self._most, self._taken = roster, most, 0
        self._parked: list[Connection] = []
        self._waiting: deque[Exchange] = deque()
        roster.hosts[origin] = self

    def begin(self, exchange: Exchange) -> None:
        """Sends it on a parked connection, or gives it a place, or has it wait."""
        if self._parked:
            # The last one in: those that are not needed grow old and are closed.
            connection = self._parked.pop()
            del self._roster.parked[connection]
            connection.start(exchange)
        elif self._taken < self._most:
            self._taken += 1
            self._roster.places += 1
            exchange.offer_place()
        else:
            self._waiting.append(exchange)

    def leave(self, exchange: Exchange) -> None:
        """Whoever awaited the exchange is gone. A connection that was at work on it is not used again."""
        turn = exchange.turn
        if exchange.connection is not None:
            exchange.connection.discard()
        elif turn.done() and not turn.cancelled():
            if turn.result():
                self.vacate()
        elif exchange in self._waiting:
            self._waiting.remove(exchange)

    def expire(self, now: float) -> None:
        """Ends what has waited too long for a connection."""
        for exchange in [exchange for exchange in self._waiting if exchange.expires <= now]:
            self._waiting.remove(exchange)
            exchange.end(NoAnswer(exchange.deadline))

    def opened(self, connection: Connection) -> None:
        self._roster.sockets.add(connection)

    def closed(self, connection: Connection) -> None:
        self._roster.closed(connection)

    def release(self, connection: Connection) -> None:
        """Goes on with who has waited longest, or is parked."""
        now = self._roster.loop.time()
        if now >= connection.retires:
            connection.discard(politely=True)
            return
        while self._waiting:
            exchange = self._waiting.popleft()
            if not exchange.turn.done():
                connection.start(exchange)
                return
        self._parked.append(connection)
        self._roster.parked[connection] = now

    def unpark(self, connection: Connection) -> None:
        if self._roster.parked.pop(connection, None) is not None:
            self._parked.remove(connection)

    def vacate(self) -> None:
        while self._waiting:
            if self._waiting.popleft().offer_place():
                return
        self._taken -= 1
        self._roster.places -= 1
        if not self._taken:
            del self._roster.hosts[self.origin]
