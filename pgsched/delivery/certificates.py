"""The certificates of clients: made of their secrets when a call is made, and remembered for the next ones.

Each has a TLS context of its own, which belongs to the origin of the connections that are opened with it: so no call
goes out on a connection that was opened with another certificate, or with none, and one that was replaced is not shown
again.

To make one takes tens of milliseconds and a megabyte, most of it for the authorities that it trusts. So they are made
in a thread, one at a time, and for each client one after the other; and no client has more of them in memory than a
few.
"""

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from pgsched.delivery.exchange import DeliveryFailed
from pgsched.delivery.tls import certified_context
from pgsched.domain.options import ClientCertificate
from pgsched.errors import InvalidSettings

_MOST_OF_A_CLIENT, _MOST = 8, 256


class Certificates:
    """``authorities`` are as in the setting ``tls_authorities``."""

    def __init__(self, get_secret: Callable[[str, str, str], Awaitable[str]], authorities: str | None = None) -> None:
        self._get_secret, self._authorities = get_secret, authorities
        self._made: dict[str, dict[bytes, ssl.SSLContext]] = {}
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._thread = ThreadPoolExecutor(1, "pgsched-certificates")

    async def context(self, given: ClientCertificate, client: str, host: str) -> ssl.SSLContext:
        """The context in which the client shows it to a host. Raises DeliveryFailed, which tells nothing of it."""
        texts = [await self._get_secret(client, name, host) for name in given.names]
        digest = hashlib.sha256("\0".join(texts).encode()).digest()
        lock = self._locks.get(client)
        if lock is None:
            lock = self._locks[client] = asyncio.Lock()
        async with lock:
            return self._found(client, digest) or self._keep(client, digest, await self._make(given, client, texts))

    def close(self) -> None:
        """Makes no more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _make(self, given: ClientCertificate, client: str, texts: list[str]) -> ssl.SSLContext:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, certified_context, texts[0], texts[1] if texts[1:] else None, self._authorities
            )
        except InvalidSettings as error:
            named = " and ".join(given.names)
            raise DeliveryFailed(f"the secret {named} of the client {client} is no certificate: {error}") from None

    def _found(self, client: str, digest: bytes) -> ssl.SSLContext | None:
        """It is the one used last from now on."""
        own = self._made.get(client, {})
        context = own.pop(digest, None)
        if context is not None:
            own[digest] = context
        return context

    def _keep(self, client: str, digest: bytes, context: ssl.SSLContext) -> ssl.SSLContext:
        own = self._made.setdefault(client, {})
        own[digest] = context
        if len(own) > _MOST_OF_A_CLIENT:
            del own[next(iter(own))]
        if sum(map(len, self._made.values())) > _MOST:
            whose = max(self._made, key=lambda name: len(self._made[name]))
            most = self._made[whose]
            del most[next(iter(most))]
            if not most:
                del self._made[whose]
        return context
