"""What many who watch are shown, looked up once for all of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_Found = TypeVar("_Found")


class Cached(Generic[_Found]):
    """Looks when somebody asks, one look at a time, and gives all who ask within so many seconds what it found."""

    def __init__(self, look: Callable[[], Awaitable[_Found]], *, seconds: float) -> None:
        self._look, self._seconds = look, seconds
        self._turn = asyncio.Lock()
        self._kept: tuple[float, _Found] | None = None

    async def get(self) -> _Found:
        """Raises what the look raises."""
        async with self._turn:
            if self._kept is None or time.monotonic() - self._kept[0] > self._seconds:
                found = await self._look()
                self._kept = time.monotonic(), found
            return self._kept[1]
