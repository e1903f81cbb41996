"""Resolves the host names of targets with the system's resolver, and caches the results for a while.

A cached address does not grant permission to connect: each address is checked when its socket is created.

Look-ups may be slow, and clients choose the names. So clients share the resolver's threads fairly (``slots``). While
all threads are busy, expired results are used.
"""

import asyncio
import ipaddress
import socket
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pgsched.delivery.egress import AddressInfo, AddressRefused, Egress
from pgsched.delivery.slots import Slots, alone

_REMEMBERED_SECONDS = 30.0
_MOST_NAMES = 4096
_THREADS = 32
_STILL_GOOD_SECONDS = 600.0


class Resolver:
    """Resolves a name once, however many callbacks need it. The resolver has its own threads, so a slow name server can
    delay other names but not handlers."""

    def __init__(self, egress: Egress, *, is_shared: Callable[[], bool] = alone) -> None:
        self._egress = egress
        self._remembered: OrderedDict[str, tuple[float, list[AddressInfo]]] = OrderedDict()
        self._asked: dict[str, asyncio.Future[list[AddressInfo]]] = {}
        self._slots = Slots("threads that resolve host names", _THREADS, is_shared=is_shared)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pgsched-resolver")

    async def resolve(self, host: str, port: int, client: str = "") -> list[AddressInfo]:
        """Returns the allowed addresses of a host, given as a name or a numeric address. Raises AddressRefused if no
        address is allowed, OSError if the host has no address, and NoFreeSlot while too many names are being
        resolved."""
        found = _as_address(host) or self._remembered_of(host)
        if found is None:
            found = await asyncio.shield(self._asked.get(host) or self._ask(host, client))
        allowed, refusal = list[AddressInfo](), OSError(f"{host} has no address")
        for family, kind, protocol, name, address in found:
            try:
                self._egress.check(str(address[0]))
                allowed.append((family, kind, protocol, name, (address[0], port, *address[2:])))
            except AddressRefused as error:
                refusal = error
        if not allowed:
            raise refusal
        return allowed

    def forget(self, host: str) -> None:
        """Forgets a name's addresses, so that the name is resolved again."""
        self._remembered.pop(host, None)

    def close(self) -> None:
        """Prevents further look-ups. A thread that is doing a look-up ends when the look-up is done."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _remembered_of(self, host: str) -> list[AddressInfo] | None:
        until, found = self._remembered.get(host, (0.0, None))
        if len(self._asked) >= _THREADS:
            until += _STILL_GOOD_SECONDS
        return found if until > asyncio.get_running_loop().time() else None

    def _ask(self, host: str, client: str) -> asyncio.Future[list[AddressInfo]]:
        loop = asyncio.get_running_loop()
        self._slots.take(client)
        asked = self._asked[host] = loop.run_in_executor(self._threads, _addresses, host)
        asked.add_done_callback(lambda answered: self._remember(host, client, answered, loop.time()))
        return asked

    def _remember(self, host: str, client: str, answered: asyncio.Future[list[AddressInfo]], now: float) -> None:
        del self._asked[host]
        self._slots.give_back(client)
        if answered.cancelled() or answered.exception() is not None:
            return
        self._remembered[host] = (now + _REMEMBERED_SECONDS, answered.result())
        self._remembered.move_to_end(host)
        if len(self._remembered) > _MOST_NAMES:
            self._remembered.popitem(last=False)


def _addresses(host: str) -> list[AddressInfo]:
    # The host is passed as bytes, because text goes through a codec that refuses some names that can be resolved.
    return [*socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)]


def _as_address(host: str) -> list[AddressInfo] | None:
    """Returns the address if the host is numeric, or None otherwise. Does not ask the system, which would block the
    loop."""
    try:
        ipaddress.IPv4Address(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, 0))]
    except ValueError:
        pass
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return None
    if "%" in host:  # only the system knows the interface's number
        return [*socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)]
    return [(socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, 0, 0, 0))]
