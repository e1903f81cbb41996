"""Batches concurrent look-ups of single keys into one statement. While a statement is running, further keys wait for
the next statement, so look-ups use at most one connection."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import islice
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Batched(Generic[_Key, _Value]):
    """Looks up keys with ``look_up``, at most ``most`` at a time. ``look_up`` returns the values of the keys that
    exist; all other keys get None. If ``look_up`` raises, all callers that wait for its keys get the error."""

    def __init__(
        self, look_up: Callable[[Collection[_Key]], Awaitable[Mapping[_Key, _Value]]], *, most: int | None = None
    ) -> None:
        self._look_up, self._most = look_up, most
        self._wanted: dict[_Key, asyncio.Future[_Value | None]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def get(self, key: _Key) -> _Value | None:
        if key not in self._wanted:
            self._wanted[key] = asyncio.get_running_loop().create_future()
        answer = self._wanted[key]
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(answer)

    async def _ask(self) -> None:
        while self._wanted:
            asked = [*islice(self._wanted, self._most)]
            wanted = {key: self._wanted.pop(key) for key in asked}
            try:
                found = await self._look_up(asked)
            except Exception as error:
                for future in wanted.values():
                    future.set_exception(error)
                    future.exception()  # marks the error as retrieved, because all callers may be gone
                continue
            for key, future in wanted.items():
                future.set_result(found.get(key))
