"""All connections of a process, kept alive between callbacks.

An exchange makes neither a task nor a timer: the caller awaits its turn, and one timer sweeps over all connections,
ends expired exchanges and closes connections that have been parked for too long. The timer runs while there is anything
to sweep.

A slot is the right to one connection. It is held, in this order, by the exchange that opens the connection and by the
open connection itself. An exchange that finds every slot of its origin taken and no connection parked does not begin
(``slots`` says who waits, and how clients share the connections).
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
_BLOCKED_SECONDS = 0.5  # the loop stood still for longer than this; peers are not charged for that time
# Common servers drop idle connections after five seconds; a request that meets that moment has to be sent twice.
_PARKED_SECONDS = 4.0
# However busy a host is, a change of its addresses is noticed after this time.
_LIFETIME_SECONDS = 300.0
_GOODBYE_SECONDS = 1.5


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


class Pool:
    """Keeps at most ``per_host`` connections to an origin, and ``connections`` in all as long as no more exchanges than
    that are going on at once: a new connection then takes the place of the one that has been parked for longest.
    ``is_shared`` says whether there are several clients, who share the connections to an origin."""

    def __init__(
        self, opener: Opener, *, per_host: int, connections: int, is_shared: Callable[[], bool] = alone
    ) -> None:
        self._opener, self._per_host, self._connections = opener, per_host, connections
        self._is_shared = is_shared
        self._state: PoolState | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sweeps_at = 0.0

    def origin_with_slot(self, origin: Origin, client: str) -> OriginSlots:
        """The host for an exchange that begins at once. Raises NoFreeSlot if none could begin now."""
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
        """Sends the request and gives what came back, at the latest after about ``deadline`` seconds: at least a whole
        head, and so much of the body as is kept, of a success ``keeps`` bytes. ``bodiless`` says that the answer has
        none, ``once`` that the request is sent on a fresh connection, and no second time.

        Raises DeliveryFailed, or AddressRefused; NoFreeSlot, with nothing sent, where too many names are asked for.
        Cancelling it ends the connection that it had.
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
        """Closes every connection; returns once that is done. Exchanges should have ended before."""
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
        """A connection of its own for an exchange that has a slot. The slot is the connection's from then on."""
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
            if blocked > _BLOCKED_SECONDS:  # what arrived meanwhile has not been read yet
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
