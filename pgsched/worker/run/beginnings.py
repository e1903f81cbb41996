"""Records in the database that an attempt starts, for rows with ``max_attempts`` 1.

A single attempt means at most one call. Whether a lost worker had made that call is known only if the database was told
before it. So the target of such a row is called only after the start is committed, and a row that is taken back
afterwards ends as failed. Starts that come at the same time are written together. Rows with more attempts do not pass
through this module.
"""

import asyncio

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Link
from pgsched.store.live import beginnings

_AT_ONCE = 500


class Beginnings:
    """Notes beginnings on one connection, which is made when the first such row begins."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._asked: list[tuple[ClaimedExecution, bool, asyncio.Future[bool]]] = []
        self._noting: asyncio.Task[None] | None = None

    async def note(self, row: ClaimedExecution, *, begun: bool = True) -> bool:
        """Notes that this row has begun, or, if it found no slot, that it has not. Returns whether that is committed;
        if not, another worker has the row, or somebody has locked it. Raises what the database raises."""
        answer = asyncio.get_running_loop().create_future()
        self._asked.append((row, begun, answer))
        if self._noting is None or self._noting.done():
            self._noting = asyncio.create_task(self._note_on())
        return bool(await answer)

    async def close(self) -> None:
        await self._link.drop()

    async def _note_on(self) -> None:
        while self._asked:
            begun = self._asked[0][1]
            some = [one for one in self._asked if one[1] is begun][:_AT_ONCE]
            self._asked = [one for one in self._asked if one not in some]
            try:
                found = await beginnings.note(await self._link.get(), [row for row, _, _ in some], begun=begun)
            except Exception as error:
                await self._link.drop(error)
                for _, _, answer in some:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for row, _, answer in some:
                if not answer.done():
                    answer.set_result(row.id in found)
