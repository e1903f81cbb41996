"""Writes handlers' reports to the database: progress, and checkpoints from which a later attempt continues.

Reports of all executions in the process are written in one statement, on a connection that is opened for the first
report. The latest progress is written at most once a second. A checkpoint is written at once, and the handler that
awaits the write continues when it is committed.
"""

import asyncio
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pgsched.domain.execution import ClaimedExecution
from pgsched.errors import StaleLease
from pgsched.store.core.connect import Link
from pgsched.store.live import handler_reports
from pgsched.store.live.handler_reports import HandlerReport

_EVERY = 1.0
_AT_ONCE = 100
_STALE = "another worker has taken over the execution; this attempt no longer counts"

Waiting = asyncio.Future[None] | Future[None]


@dataclass(slots=True)
class _Said:
    """The unwritten report of one execution, and the futures that wait for its checkpoint."""

    report: HandlerReport
    waiting: list[Waiting] = field(default_factory=list)


class Reports:
    """Gathers and writes reports. ``progress`` and ``checkpoint`` must be called in the loop, and do not block."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._said: dict[tuple[UUID, int], _Said] = {}
        self._sending: asyncio.Task[None] | None = None
        self._is_closed = False
        self._sent_at = float("-inf")
        self._hurry = asyncio.Event()

    def progress(self, execution: ClaimedExecution, fraction: float, note: str | None) -> None:
        """Takes an execution's progress, to be written soon."""
        if not self._is_closed:
            said = self._of(execution)
            said.report = said.report._replace(fraction=fraction, note=note)

    def checkpoint(self, execution: ClaimedExecution, value: str, waiting: Waiting) -> None:
        """Stores a JSON value for later attempts. The future ``waiting`` is done when the value is committed. It fails
        with StaleLease if another worker has the execution, or with the database's error."""
        if self._is_closed:
            _tell([waiting], StaleLease(_STALE))
            return
        said = self._of(execution)
        said.report = said.report._replace(checkpoint=value)
        said.waiting.append(waiting)
        self._hurry.set()

    async def read(self, execution: ClaimedExecution) -> Any:
        """Returns an execution's last checkpoint, or None if it has none."""
        try:
            return await handler_reports.checkpoint_of(await self._link.get(), UUID(bytes=execution.id))
        except Exception as error:
            await self._link.drop(error)
            raise

    async def close(self) -> None:
        """Discards unwritten reports, and closes the connection."""
        self._is_closed = True
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        for said in self._said.values():
            _tell(said.waiting, StaleLease(_STALE))
        self._said.clear()
        await self._link.drop()

    def _of(self, execution: ClaimedExecution) -> _Said:
        key = UUID(bytes=execution.id), execution.token
        if key not in self._said:
            self._said[key] = _Said(HandlerReport(key[0], execution.token))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_on())
        return self._said[key]

    async def _send_on(self) -> None:
        while self._said:
            try:
                async with asyncio.timeout(self._sent_at + _EVERY - time.monotonic()):
                    await self._hurry.wait()
            except TimeoutError:
                pass
            self._hurry.clear()
            while some := [self._said.pop(key) for key in list(self._said)[:_AT_ONCE]]:
                await self._send(some)
            self._sent_at = time.monotonic()

    async def _send(self, some: list[_Said]) -> None:
        try:
            kept = await handler_reports.keep(await self._link.get(), [said.report for said in some])
        except Exception as error:
            await self._link.drop(error)
            for said in some:
                _tell(said.waiting, error)
            return
        for said in some:
            _tell(said.waiting, None if said.report.id in kept else StaleLease(_STALE))


def _tell(waiting: list[Waiting], error: Exception | None) -> None:
    for one in waiting:
        if one.done():  # the waiting handler was cancelled
            continue
        if error is None:
            one.set_result(None)
        else:
            one.set_exception(error)
