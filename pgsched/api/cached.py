"""Caches a value for a short time, and shares one lookup among all callers."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from pgsched.api.access import check_everywhere
from pgsched.domain.api_key import Grant

_Found = TypeVar("_Found")
GLANCE = 0.1
"""The maximum wait, in seconds, of callers that can do without a value."""


class Cached(Generic[_Found]):
    """Shares the result of ``look`` with all callers for ``seconds``. Calls ``look`` on request, one call at a time; a
    call continues even if its caller is gone. The result covers all clients, so grants for only some clients are
    refused."""

    def __init__(self, look: Callable[[], Awaitable[_Found]], *, seconds: float) -> None:
        self._look, self._seconds = look, seconds
        self._looking: asyncio.Task[_Found] | None = None
        self._found_at = float("-inf")

    async def get(self, grant: Grant) -> _Found:
        """Returns the latest value. Raises Refused, and whatever ``look`` raises."""
        check_everywhere(grant)
        return await asyncio.shield(self._latest(self._seconds))

    async def glance(self, grant: Grant, *, kept: float | None = None, within: float = GLANCE) -> _Found | None:
        """Returns a value up to ``kept`` seconds old, or None if ``look`` takes longer than ``within`` seconds.
        ``look`` then continues, and a later caller gets the result."""
        check_everywhere(grant)
        looking = self._latest(self._seconds if kept is None else kept)
        await asyncio.wait([looking], timeout=within)
        return looking.result() if looking.done() else None

    async def stop(self) -> None:
        """Cancels and discards a running call, because a restarted application may have another event loop."""
        looking, self._looking = self._looking, None
        if looking is not None and not looking.done():
            looking.cancel()
            await asyncio.wait([looking])

    def _latest(self, kept: float) -> asyncio.Task[_Found]:
        looking = self._looking
        if looking is None or (looking.done() and time.monotonic() - self._found_at > kept):
            looking = self._looking = asyncio.create_task(self._find())
            looking.add_done_callback(_heed)
        return looking

    async def _find(self) -> _Found:
        self._found_at = float("-inf")  # a failure is not cached
        found = await self._look()
        self._found_at = time.monotonic()
        return found


def _heed(looking: asyncio.Task[_Found]) -> None:
    """Retrieves the exception, so that asyncio does not log it if all callers are gone."""
    if not looking.cancelled():
        looking.exception()
