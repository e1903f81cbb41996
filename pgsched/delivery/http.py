"""HTTP callbacks, over one pool of kept-alive connections a process.

What was received decides: once the status line says 2xx the callback is done, whatever happens to the rest
of the answer. Nothing is followed, resent or cached here; another try is the policy's to decide.
"""

import asyncio
import io
import ipaddress
import random
import ssl
from collections.abc import Callable
from functools import lru_cache

import aiohttp
from yarl import URL

from pgsched.delivery.answer import outcome_of_answer, parse_retry_after
from pgsched.delivery.channel import Verdict, outcome_of
from pgsched.delivery.egress import Egress, GuardedResolver
from pgsched.delivery.headers import compose
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Outcome
from pgsched.domain.policy import Options
from pgsched.domain.target import parse_target
from pgsched.errors import InvalidTarget

LONGEST_BODY = 65_536
"""Bytes of an answer that are read at most."""

_BODY_SECONDS = 1.0
# Common servers drop idle connections after five seconds; reusing one at that moment would cost an attempt.
_KEEP_ALIVE_SECONDS = 4.0
_DNS_SECONDS = 30
_LARGE_BODY = 1_000_000
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)
_WITHOUT_BODY = frozenset({"GET", "HEAD"})


class HttpChannel:
    """Calls http: and https: targets.

    ``connections_per_host`` and ``concurrency`` bound the pool; ``secrets`` answers with the key that signs
    a client's callbacks, if it has one; ``now`` is the database's time in seconds since 1970. ``tls``
    replaces the default context: for an authority of one's own, or a client certificate.
    """

    def __init__(
        self,
        *,
        connections_per_host: int,
        concurrency: int,
        allow_private: bool,
        secrets: Callable[[str], bytes | None],
        now: Callable[[], int],
        tls: ssl.SSLContext | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._connections_per_host, self._concurrency = connections_per_host, concurrency
        self._egress = Egress(allow_private=allow_private)
        self._secrets, self._now, self._tls = secrets, now, tls
        self._rng = rng or random.Random()
        self._session: aiohttp.ClientSession | None = None

    async def deliver(self, execution: Execution, options: Options, deadline: float) -> Outcome:
        """One request. An answer that does not begin within ``deadline`` seconds is a failure worth another
        try."""
        try:
            response = await self._send(execution, options, deadline)
            body = await _read(response)
        except Exception as error:
            return outcome_of(error)
        retry_after = response.headers.get("Retry-After")
        return outcome_of_answer(
            response.status,
            options,
            reason=response.reason or "",
            body=body,
            retry_after=parse_retry_after(retry_after, self._now()) if retry_after else None,
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _send(self, execution: Execution, options: Options, deadline: float) -> aiohttp.ClientResponse:
        url = _url(execution.target)
        session = self._session or self._open()
        headers = compose(
            execution,
            options.headers,
            now=self._now(),
            deadline=deadline,
            secret=self._secrets(execution.client_id),
            rng=self._rng,
        )
        data = None if options.method in _WITHOUT_BODY else _data(execution.payload)
        try:
            async with asyncio.timeout(deadline):
                return await session.request(options.method, url, data=data, headers=headers, allow_redirects=False)
        except TimeoutError:
            raise NoAnswer(deadline) from None

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=self._concurrency,
            limit_per_host=self._connections_per_host,
            keepalive_timeout=_KEEP_ALIVE_SECONDS,
            resolver=GuardedResolver(self._egress),
            ttl_dns_cache=_DNS_SECONDS,
            socket_factory=self._egress.open_socket,
            ssl=self._tls or True,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Content-Type"),
            timeout=_NO_TIMEOUT,
            trust_env=False,
        )
        return self._session


class NoAnswer(Verdict):
    """The target did not begin to answer in time."""

    def __init__(self, deadline: float) -> None:
        message = f"no answer within {deadline:g} s"
        super().__init__(message, Failed(error=message, retryable=True))


class Uncallable(Verdict):
    """The target is a URL that cannot be called, now or later."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Failed(error=message, retryable=False))


@lru_cache(maxsize=16_384)
def _url(target: str) -> URL:
    """The URL exactly as scheduled. Raises Uncallable."""
    try:
        host = parse_target(target).name
    except InvalidTarget as error:
        raise Uncallable(str(error)) from None
    try:
        if host.startswith("["):
            ipaddress.IPv6Address(host[1:-1])
        elif host.replace(".", "").isdigit():
            ipaddress.IPv4Address(host)
    except ValueError:
        raise Uncallable(f"{host} is no address: write four numbers from 0 to 255, or IPv6 in brackets") from None
    return URL(target, encoded=True)


def _data(payload: bytes | None) -> bytes | io.BytesIO | None:
    """The body untouched; a large one as a stream, so that sending it does not hold up the loop."""
    if payload is None or len(payload) <= _LARGE_BODY:
        return payload
    return io.BytesIO(payload)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body as far as it is kept. The connection is used again only if nothing of the answer is left on
    it."""
    content = response.content
    if content.is_eof():
        return await content.read(LONGEST_BODY)
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while len(body) < LONGEST_BODY and (chunk := await content.read(LONGEST_BODY - len(body))):
                body += chunk
    except (aiohttp.ClientError, TimeoutError, OSError):
        pass
    finally:
        if not content.is_eof():
            response.close()
    return bytes(body)
