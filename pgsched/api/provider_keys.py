"""The keys with which a provider signs its tokens, fetched from the URL in its discovery document.

Keys are fetched on demand, and known keys are refreshed in the background every few minutes. Unknown keys cause at most
two fetches per minute, so that forged tokens do not burden the provider. All waiting requests share one fetch; requests
with API keys do not wait.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pgsched.domain.identity_providers import may_be_asked
from pgsched.errors import Unavailable
from pgsched.telemetry import Events

if TYPE_CHECKING:  # the import takes 50 ms, and most installations use no provider
    import httpx

_FRESH, _STALE = 300.0, 3600.0
_AGAIN = 30.0
LONGEST = 5.0
"""The maximum wait for a provider's responses, in seconds."""
_LARGEST = 256 * 1024
_MOST = 100
_MOST_PIECES, _AT_ONCE = 8_192, 100
Keys = Mapping[str, list[dict[str, Any]]]


class Unusable(Exception):
    """The provider's response cannot be used."""


def faults() -> tuple[type[Exception], ...]:
    """The exceptions that requests to a provider can raise."""
    import httpx

    return httpx.HTTPError, httpx.InvalidURL, TimeoutError, Unusable


class SigningKeys:
    """The keys of one issuer, by id."""

    def __init__(self, issuer: str, context: ssl.SSLContext, events: Events) -> None:
        self._issuer, self._context, self._events = issuer, context, events
        self._keys: Keys = {}
        self._fetched = self._tried = float("-inf")
        self._failed: str | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, id: str) -> list[dict[str, Any]]:
        """Returns the provider's keys with this id. Raises Unavailable if the keys cannot be fetched."""
        age = time.monotonic() - self._fetched
        if id in self._keys and age < _STALE:
            if age > _FRESH:
                self._fetch()
            return self._keys[id]
        await asyncio.shield(self._fetch())
        if time.monotonic() - self._fetched > _STALE or (self._failed and id not in self._keys):
            raise Unavailable(f"the keys of {self._issuer} cannot be fetched: {self._failed}; try again")
        return self._keys.get(id, [])

    def _fetch(self) -> asyncio.Future[None]:
        """Returns the current or latest fetch. First starts a new fetch if the latest one ended long enough ago."""
        if self._fetching is None or (self._fetching.done() and time.monotonic() - self._tried > _AGAIN):
            self._fetching = asyncio.create_task(self._refresh())
        return self._fetching

    async def _refresh(self) -> None:
        try:
            found = await self._ask()
        except faults() as error:
            self._failed = f"{type(error).__name__}: {error}"[:300].rstrip(": ")
            self._events.emit("oidc.unavailable", issuer=self._issuer, error=self._failed)
        else:
            self._keys, self._failed, self._fetched = found, None, time.monotonic()
        finally:
            self._tried = time.monotonic()

    async def _ask(self) -> Keys:
        async with asking(self._context) as client:
            told = await discovered(client, self._issuer)
            address = told.get("jwks_uri")
            if not isinstance(address, str) or not may_be_asked(address):
                raise Unusable("jwks_uri is not a URL that starts with https://")
            return _by_id((await answered(client, "GET", address)).get("keys"))


@asynccontextmanager
async def asking(context: ssl.SSLContext) -> AsyncIterator["httpx.AsyncClient"]:
    """Yields an HTTP client for a provider, which follows no redirects. Raises httpx's errors, and TimeoutError if the
    block takes longer than five seconds."""
    import httpx

    headers = {"Accept-Encoding": "identity", "Accept": "application/json"}
    async with (
        asyncio.timeout(LONGEST),
        httpx.AsyncClient(verify=context, follow_redirects=False, timeout=LONGEST, headers=headers) as client,
    ):
        yield client


async def discovered(client: "httpx.AsyncClient", issuer: str) -> dict[str, Any]:
    """Fetches an issuer's discovery document. Raises Unusable, or httpx's errors."""
    told = await answered(client, "GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if told.get("issuer") != issuer:
        raise Unusable("the discovery document is for another issuer")
    return told


async def answered(client: "httpx.AsyncClient", method: str, url: str, **given: Any) -> dict[str, Any]:
    """Returns the JSON object in a provider's response. Raises httpx's errors, and Unusable if the response is too
    large or contains no JSON object."""
    async with client.stream(method, url, **given) as answer:
        if answer.status_code != 200:
            raise Unusable(f"{url} answered {answer.status_code}")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise Unusable(f"{url} sent compressed data, which was not requested")
        body, pieces = bytearray(), 0
        async for piece in answer.aiter_raw():
            body += piece
            pieces += 1
            if len(body) > _LARGEST or pieces > _MOST_PIECES:
                raise Unusable(f"{url} sent more than {_LARGEST} bytes, or more than {_MOST_PIECES} chunks")
            if not pieces % _AT_ONCE:  # yields, because thousands of chunks may arrive at once
                await asyncio.sleep(0)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unusable(f"{url} did not return a JSON object")
    return found


def _by_id(keys: Any) -> Keys:
    if not isinstance(keys, list) or len(keys) > _MOST:
        raise Unusable(f"the key set must be a list, and have at most {_MOST} keys")
    found: dict[str, list[dict[str, Any]]] = {}
    for key in keys:
        if isinstance(key, dict) and isinstance(key.get("kid"), str) and key.get("use", "sig") == "sig":
            found.setdefault(key["kid"], []).append(key)
    return found
