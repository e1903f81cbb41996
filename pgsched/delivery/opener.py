"""Opens new connections: resolves the name, checks the address, connects the socket and starts TLS.

Each address is checked when its socket is created, so a name cannot resolve to another address after the check. Several
addresses are tried at short intervals, and the first connection wins. A broken IPv6 route therefore delays an attempt
only by a fraction of a second (RFC 8305). Only a few connections are started per turn of the event loop, because long
turns would delay claims.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from itertools import zip_longest

from pgsched.delivery.connection import Connection
from pgsched.delivery.egress import AddressInfo, AddressRefused, Egress
from pgsched.delivery.exception_outcomes import OutcomeException, describe
from pgsched.delivery.exchange import DeliveryFailed
from pgsched.delivery.resolver import Resolver
from pgsched.delivery.slots import alone
from pgsched.delivery.tls import trusting_context
from pgsched.delivery.url import Origin
from pgsched.domain.round_robin import Turns

_HEAD_START_SECONDS = 0.25
_GOODBYE_SECONDS = 1.0
_MOST_ADDRESSES = 16
_A_TURN = 4
"""Maximum number of connections started per turn of the event loop. Starting a connection takes up to half a
millisecond, and the task does not yield if the connection is refused at once."""


class Opener:
    """Opens connections to addresses that callbacks may connect to. ``tls`` replaces the default context, which trusts
    the system's authorities. ``is_shared`` returns whether there are several clients."""

    def __init__(
        self, egress: Egress, *, tls: ssl.SSLContext | None = None, is_shared: Callable[[], bool] = alone
    ) -> None:
        self._egress, self._resolver, self._tls = egress, Resolver(egress, is_shared=is_shared), tls
        self._turnstile = Turnstile()

    async def open(self, origin: Origin, new: Callable[[], Connection], client: str) -> Connection:
        """Returns a connection created by ``new``, after the TLS handshake. Raises AddressRefused or DeliveryFailed if
        the connection cannot be opened, and NoFreeSlot while too many names are being resolved."""
        await self._turnstile.enter(client)
        try:
            return await self._shake_hands(await self.reach(origin, client), origin, new)
        except OutcomeException:
            raise
        except (OSError, ValueError) as error:  # ValueError: a name that is invalid in TLS
            raise DeliveryFailed(f"cannot connect to {origin.host}:{origin.port}: {describe(error)}") from error

    async def reach(self, origin: Origin, client: str) -> socket.socket:
        """Returns a socket that is connected to the origin. Raises AddressRefused or OSError if it cannot be connected,
        and NoFreeSlot while too many names are being resolved."""
        addresses = await self._resolver.resolve(origin.host, origin.port, client)
        try:
            return await self._connect(addresses[:_MOST_ADDRESSES])
        except OSError:
            self._resolver.forget(origin.host)
            raise

    def close(self) -> None:
        self._resolver.close()

    async def _shake_hands(self, sock: socket.socket, origin: Origin, new: Callable[[], Connection]) -> Connection:
        """Creates the connection. From here on, the event loop owns the socket, even after a failure."""
        loop = asyncio.get_running_loop()
        if not origin.tls:
            return (await loop.create_connection(new, sock=sock))[1]
        if origin.context is None and self._tls is None:
            self._tls = trusting_context()
        _, connection = await loop.create_connection(
            new,
            sock=sock,
            ssl=origin.context or self._tls,
            server_hostname=origin.host.removesuffix("."),
            ssl_shutdown_timeout=_GOODBYE_SECONDS,
        )
        return connection

    async def _connect(self, addresses: list[AddressInfo]) -> socket.socket:
        """Returns a socket for the first address that accepts a connection. If no address does, raises one of the
        errors."""
        if len(addresses) == 1:
            return await self._connect_to(addresses[0])
        attempts: set[asyncio.Task[socket.socket]] = set()
        try:
            return await self._race(addresses, attempts)
        finally:
            for attempt in attempts:
                attempt.add_done_callback(_close_late)
                attempt.cancel()

    async def _race(self, addresses: list[AddressInfo], attempts: set[asyncio.Task[socket.socket]]) -> socket.socket:
        waiting, errors = [*reversed(_alternating(addresses))], list[BaseException]()
        while waiting or attempts:
            if waiting:
                attempts.add(asyncio.create_task(self._connect_to(waiting.pop())))
            wait = _HEAD_START_SECONDS if waiting else None
            done, _ = await asyncio.wait(attempts, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                attempts.discard(attempt)
                error = attempt.exception()
                if error is None:
                    return attempt.result()
                errors.append(error)
        # Prefer the error of an allowed address, which may accept a later attempt; a refused address stays refused.
        raise min(errors, key=lambda error: isinstance(error, AddressRefused))

    async def _connect_to(self, info: AddressInfo) -> socket.socket:
        sock = self._egress.open_socket(info)
        try:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, info[4])
        except BaseException:
            sock.close()
            raise
        return sock


def _alternating(addresses: list[AddressInfo]) -> list[AddressInfo]:
    """Returns the addresses with IPv6 and IPv4 alternating, beginning with the first address's family. Each family
    stays in order."""
    families: dict[int, list[AddressInfo]] = {}
    for info in addresses:
        families.setdefault(info[0], []).append(info)
    rounds = zip_longest(*families.values())
    return [info for turn in rounds for info in turn if info is not None]


def _close_late(attempt: asyncio.Task[socket.socket]) -> None:
    """Closes the socket of an attempt that lost the race."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()


class Turnstile:
    """Lets a few callers pass per turn of the event loop, so that hundreds of callers do not block the loop. Clients
    take turns."""

    def __init__(self) -> None:
        self._left = _A_TURN
        self._is_turning = False
        self._waiting = Turns[asyncio.Future[None]]()

    async def enter(self, client: str) -> None:
        """Returns when it is the caller's turn."""
        loop = asyncio.get_running_loop()
        if not self._is_turning:
            self._is_turning = True
            loop.call_soon(self._turn, loop)
        if self._left > 0 and not self._waiting:
            self._left -= 1
            return
        place = loop.create_future()
        self._waiting.add(frozenset((client,)), place)
        await place

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = _A_TURN
        self._is_turning = bool(self._waiting)
        while self._left and (found := self._waiting.take()):
            if not found[1].done():  # done if the caller's attempt was cancelled
                found[1].set_result(None)
                self._left -= 1
        if self._is_turning:
            loop.call_soon(self._turn, loop)
