"""What many who ask are told, looked up once for all of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from pgsched.api.access import check_everywhere
from pgsched.domain.api_key import Grant

_Found = TypeVar("_Found")
_GLANCE = 0.1  # seconds


class Cached(Generic[_Found]):
    """Looks when somebody asks, one look at a time, and gives all who ask within so many seconds what it found. A look
    goes on when who asked for it is gone. It is about all clients, and no session is held to those of a key: so it
    refuses, too, whose key is for some."""

    def __init__(self, look: Callable[[], Awaitable[_Found]], *, seconds: float) -> None:
        self._look, self._seconds = look, seconds
        self._looking: asyncio.Task[_Found] | None = None
        self._found_at = float("-inf")

    async def get(self, grant: Grant) -> _Found:
        """Raises Refused, and what the look raises."""
        check_everywhere(grant)
        return await asyncio.shield(self._latest(self._seconds))

    async def glance(self, grant: Grant, *, kept: float | None = None, within: float = _GLANCE) -> _Found | None:
        """The same for somebody who takes what is ``kept`` seconds old, and waits no longer than ``within``: None if
        the look takes longer. It goes on, and who asks again has what it found."""
        check_everywhere(grant)
        looking = self._latest(self._seconds if kept is None else kept)
        await asyncio.wait([looking], timeout=within)
        return looking.result() if looking.done() else None

    async def stop(self) -> None:
        """Ends a look that is under way. Nothing of it is kept: whoever starts again may have another loop."""
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
        found = await self._look()
        self._found_at = time.monotonic()
        return found


def _heed(looking: asyncio.Task[_Found]) -> None:
    """Whoever asked may be gone by the time at which it fails."""
    if not looking.cancelled():
        looking.exception()
