"""Notes in the database that an attempt begins, for rows that may have only one attempt.

Whoever allows one attempt asks for at most one call. Only the database can tell whether a lost worker had made that
call, if it was told before. So the target of such a row is called only once the beginning is committed, and whoever
takes the row back afterwards ends it as failed. Beginnings that are noted at the same time go to the database together.
Rows that may have more attempts do not pass this module.
"""

import asyncio

from pgsched.domain.execution import Execution
from pgsched.store.core.connect import Link
from pgsched.store.live import beginnings

_AT_ONCE = 500


class Beginnings:
    """Notes beginnings on one connection, which is made when the first such row begins."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._asked: list[tuple[Execution, bool, asyncio.Future[bool]]] = []
        self._noting: asyncio.Task[None] | None = None

    async def note(self, row: Execution, *, begun: bool = True) -> bool:
        """Notes that this row has begun, or, if it found no place, that it has not. Returns whether that is committed;
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
