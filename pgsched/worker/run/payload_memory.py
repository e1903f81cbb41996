"""Limits the memory that large payloads and large results take.

A claim returns small payloads with their rows and keeps larger ones back, because a worker may hold many rows, and a
payload may be as large as a mebibyte. A payload that was kept back is read when its row starts. If there is no memory
for the payload, the row waits, as it would for any slot. The size of a payload is unknown before it is read, so reading
reserves the maximum size, and then releases what is not needed.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

from pgsched.batched_lookups import Batched
from pgsched.delivery.slots import NoFreeSlot, Slots, alone
from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Link
from pgsched.store.live import recorded_starts

LARGEST = 1_048_576
_AT_ONCE = 16  # maximum number of payloads that are read in one round trip
_LARGE = 8_192


class Payloads(Slots):
    """The memory for large payloads, as slots. ``used`` is the number of bytes in memory or reserved. ``is_full`` means
    that all bytes are used, some of them by unsettled results."""

    def __init__(self, link: Link, most_bytes: int, *, is_shared: Callable[[], bool] = alone) -> None:
        super().__init__("memory for large payloads", max(most_bytes // LARGEST, 1), is_shared=is_shared)
        self._link, self._most_bytes = link, max(most_bytes, LARGEST)
        self._readings = Batched(self._read_together, most=_AT_ONCE)
        self.results: dict[bytes, int] = {}
        self.used = 0
        self.is_full = False

    @property
    def free(self) -> int:
        return (self._most_bytes - self.used) // LARGEST

    def taken_by(self, client: str) -> int:
        return -(-self._by_client.get(client, 0) // LARGEST)

    @asynccontextmanager
    async def whole(self, row: ClaimedExecution) -> AsyncIterator[ClaimedExecution | None]:
        """Yields the row with its payload, or None if another worker has the row. The payload is counted until the
        block is left.

        Raises NoFreeSlot if there is no memory left, and any error of the database.
        """
        if self.free_for(row.client_id) < 1:
            raise NoFreeSlot(self)
        taken = self._reserve(row.client_id, LARGEST)
        try:
            found = await self._readings.get(row)
            size = len(found.payload or b"") if found else 0
            taken -= self._let_go(row.client_id, taken - size)
            yield found
        finally:
            self._let_go(row.client_id, taken)

    def keep(self, id: bytes, result: bytes) -> None:
        """Counts a large result until ``note_left``, because it stays in memory until its row is settled."""
        if len(result) > _LARGE:
            self.results[id] = len(result)
            self._use(len(result))

    def note_left(self, ids: Sequence[bytes]) -> None:
        """Stops counting the results of these rows, which are no longer in hand."""
        for id in ids:
            self._put_back(self.results.pop(id, 0))

    async def close(self) -> None:
        await self._link.drop()

    def _reserve(self, client: str, count: int) -> int:
        self._use(count)
        self._by_client[client] = self._by_client.get(client, 0) + count
        return count

    def _let_go(self, client: str, count: int) -> int:
        left = self._by_client.get(client, 0) - count
        if left > 0:
            self._by_client[client] = left
        else:
            self._by_client.pop(client, None)
        self._put_back(count)
        return count

    def _put_back(self, count: int) -> None:
        if count:
            self._use(-count)
            if self.free > 0:
                self.tell()

    def _use(self, count: int) -> None:
        self.used += count
        self.is_full = bool(self.results) and self.used >= self._most_bytes

    async def _read_together(self, rows: Collection[ClaimedExecution]) -> dict[ClaimedExecution, ClaimedExecution]:
        """Reads, in one round trip, the payloads that were requested during the previous read."""
        try:
            found = await recorded_starts.bring_payloads(await self._link.get(), [*rows])
        except Exception as error:
            await self._link.drop(error)
            raise
        return {row: row._replace(payload=found[row.id]) for row in rows if row.id in found}
