"""The pool of a process's connections, which are kept alive between callbacks.

An exchange creates no task and no timer. The caller awaits the exchange's turn. A single timer checks all connections:
it ends expired exchanges, and closes connections that have been parked for too long. The timer runs only while there is
something to check.

A slot is the right to one connection. The slot is held first by the exchange that opens the connection, and then by the
open connection. An exchange cannot begin if all slots of its origin are taken and no connection is parked.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from pgsched.delivery.connection import Connection
from pgsched.delivery.exchange import Exchange, NoAnswer
from pgsched.delivery.opener import Opener
from pgsched.delivery.slots import NoFreeSlot, Slots, alone
from pgsched.delivery.url import Origin

_SWEEP_SECONDS = 0.05
_BLOCKED_SECONDS = 0.5  # if the loop was blocked for longer, the blocked time does not count against peers
# Common servers drop idle connections after five seconds, and a request sent at that moment must be sent again.
_PARKED_SECONDS = 4.0
# A change of a host's addresses takes effect within this time, however busy the host is.
_LIFETIME_SECONDS = 300.0
_GOODBYE_SECONDS = 1.5


class PoolState:
    """The state that all origins of a pool share. ``sockets`` are the open connections. ``parked`` maps each
    parked connection to the time at which it was parked, oldest first. ``slots`` is the total number of slots taken."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.hosts: dict[Origin, OriginSlots] = {}
        self.sockets: set[Connection] = set()
        self.parked: OrderedDict[Connection, float] = OrderedDict()
        self.slots = 0
        self._last_closed: asyncio.Future[None] | None = None

    async def emptied(self) -> None:
        """Waits until no socket is open."""
        if self.sockets:
            self._last_closed = self.loop.create_future()
            await self._last_closed

    def closed(self, connection: Connection) -> None:
        """Records that the connection's socket is closed."""
        self.sockets.discard(connection)
        if self._last_closed and not self._last_closed.done() and not self.sockets:
            self._last_closed.set_result(None)


class OriginSlots(Slots):
    """The slots of an origin. ``most`` is their maximum number. The object removes itself from the pool's state when no
    slot is taken and no row waits, and is not used afterwards."""

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
        """Starts the exchange on a parked connection, or gives it a slot for a new connection. The caller must have
        checked that the client can have a slot, and must call ``over`` afterwards."""
        self._count(client)
        if exchange.once and self._parked:
            self._begin_afresh(exchange)
        elif self._parked:
            # Last in, first out, so that surplus connections stay parked until they are closed.
            connection = self._parked.pop()
            del self._state.parked[connection]
            connection.start(exchange)
        else:
            self.taken += 1
            self._state.slots += 1
            exchange.offer_slot()

    def over(self, client: str) -> None:
        """Records that an exchange of this client is over."""
        self._discount(client)
        self.tell()

    def _begin_afresh(self, exchange: Exchange) -> None:
        """Gives the exchange a slot for a new connection. If all slots are taken, closes the connection that was parked
        longest ago."""
        self.taken += 1
        self._state.slots += 1
        if self.taken > self.most:
            self._parked[0].discard(politely=True)
        exchange.offer_slot()

    def leave(self, exchange: Exchange) -> None:
        """Abandons an exchange that is no longer awaited. The exchange's connection is not used again."""
        turn = exchange.turn
        if exchange.connection is not None:
            exchange.connection.discard()
        elif turn.done() and not turn.cancelled() and turn.result():
            self.vacate()

    def opened(self, connection: Connection) -> None:
        """Records that the connection is open."""
        self._state.sockets.add(connection)

    def closed(self, connection: Connection) -> None:
        """Records that the connection's socket is closed."""
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
        """Makes a connection unavailable. Does nothing if it is not parked."""
        if self._state.parked.pop(connection, None) is not None:
            self._parked.remove(connection)

    def vacate(self) -> None:
        """Frees a slot."""
        self.taken -= 1
        self._state.slots -= 1
        self.retire()

    def retire(self) -> None:
        """Removes this origin from the pool's state if no slot is taken and no row waits."""
        if not self.taken and self.freed is None:
            self._state.hosts.pop(self.origin, None)


class Pool:
    """Keeps connections. ``per_host`` is their maximum number per origin. ``connections`` is their maximum number in
    total, unless more exchanges run at once; a new connection beyond this number replaces the connection that was
    parked longest ago. ``is_shared`` returns whether several clients share the connections to an origin."""

    def __init__(
        self, opener: Opener, *, per_host: int, connections: int, is_shared: Callable[[], bool] = alone
    ) -> None:
        self._opener, self._per_host, self._connections = opener, per_host, connections
        self._is_shared = is_shared
        self._state: PoolState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sweeps_at = 0.0

    def origin_with_slot(self, origin: Origin, client: str) -> OriginSlots:
        """Returns the origin's slots for an exchange that must begin at once. Raises NoFreeSlot if no slot is free for
        the client."""
        state = self._state or self._start()
        host = state.hosts.get(origin) or self._new_host(origin, state)
        if host.free_for(client) < 1:
            raise NoFreeSlot(host)
        return host

    async def exchange(
        self,
        host: OriginSlots,
        request: bytes,
        *,
        bodiless: bool,
        once: bool,
        deadline: float,
        client: str,
        keeps: int = 0,
    ) -> Exchange:
        """Sends the request, and returns the response after about ``deadline`` seconds at the latest. The response has
        a complete head and, for a success, the first ``keeps`` bytes of the body. ``bodiless`` means that the response
        has no body. ``once`` means that the request is sent only once, on a fresh connection.

        Raises DeliveryFailed or AddressRefused if there is no response. Raises NoFreeSlot before sending anything if
        too many names are being resolved. Cancelling an exchange ends its connection.
        """
        state = self._state or self._start()
        loop = state.loop
        exchange = Exchange(
            request,
            loop.create_future(),
            bodiless=bodiless,
            once=once,
            deadline=deadline,
            expires=loop.time() + deadline,
            keeps=keeps,
        )
        host.begin(exchange, client)
        try:
            while await exchange.turn:
                await self._open(host, exchange, state, client)
        except BaseException:
            host.leave(exchange)
            raise
        finally:
            host.over(client)
        if exchange.error is not None:
            raise exchange.error
        return exchange

    async def close(self) -> None:
        """Closes all connections, and returns when they are closed. All exchanges should have ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._opener.close()
        if self._state is None:
            return
        sockets = self._state.sockets
        for connection in [*sockets]:
            connection.discard(politely=connection.exchange is None)
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._state.emptied()
        except TimeoutError:
            for connection in [*sockets]:
                connection.discard()

    def _start(self) -> PoolState:
        self._state = PoolState(asyncio.get_running_loop())
        return self._state

    def _new_host(self, origin: Origin, state: PoolState) -> OriginSlots:
        if self._timer is None:
            self._set_timer(state)
        return OriginSlots(origin, state, most=self._per_host, is_shared=self._is_shared)

    async def _open(self, host: OriginSlots, exchange: Exchange, state: PoolState, client: str) -> None:
        """Opens a new connection for an exchange that has a slot. From then on, the connection holds the slot."""
        if state.slots > self._connections and state.parked:
            next(iter(state.parked)).discard(politely=True)
        try:
            async with asyncio.timeout_at(exchange.expires):
                connection = await self._opener.open(
                    host.origin, lambda: Connection(host, state.loop, lifetime=_LIFETIME_SECONDS), client
                )
        except TimeoutError:
            raise NoAnswer(exchange.deadline) from None
        exchange.turn = state.loop.create_future()
        connection.start(exchange)

    def _sweep(self, state: PoolState) -> None:
        now = state.loop.time()
        blocked = now - self._sweeps_at
        for connection in [*state.sockets]:
            if (exchange := connection.exchange) is None:
                continue
            if blocked > _BLOCKED_SECONDS:  # data that arrived during that time has not been read yet
                exchange.expires += blocked
            elif exchange.expires <= now:
                connection.discard(NoAnswer(exchange.deadline))
        for host in [*state.hosts.values()]:
            host.retire()
        while state.parked:
            connection, since = next(iter(state.parked.items()))
            if since + _PARKED_SECONDS > now:
                break
            connection.discard(politely=True)
        self._timer = None
        if state.hosts:
            self._set_timer(state)

    def _set_timer(self, state: PoolState) -> None:
        self._sweeps_at = state.loop.time() + _SWEEP_SECONDS
        self._timer = state.loop.call_at(self._sweeps_at, self._sweep, state)
