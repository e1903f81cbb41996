"""Runs alone what may end its worker's process, and says so of what did.

A handler can end its process: by ``os._exit``, by a fault in an extension, by taking all the memory there is. With the
process goes what else it had in hand. All that goes back, without an attempt counted; but what was in hand of several
lost workers is held at a gate of its own, and run from there in a process that has nothing else in hand (``trial``).
This service starts that process when it is wanted, one for the whole fleet, and hears from it what it is about to run.
Should it end then, that execution is held for good with the reason, until somebody decides about it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from pgsched.domain.capability import ALONE
from pgsched.events import Events
from pgsched.service import Service
from pgsched.store.core.connect import Link
from pgsched.store.gates import gates
from pgsched.store.live import parking
from pgsched.worker.gates.capabilities import Capabilities

_EVERY = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNTIL_IT_LEFT = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What such a process is about to run."""

    partition: int
    id: UUID
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How such a process ended, in words, where it was not told to and had not done; and what it was running."""

    how: str | None
    running: Running | None


Start = Callable[[], Awaitable[Ended]]
"""Runs such a process until it ends; cancelled, it has the process drain first."""


class Witness(Service):
    """Starts the process where it is this worker's turn to (``Capabilities.to_try``)."""

    name = "witness"

    def __init__(self, link: Link, events: Events, capabilities: Capabilities, *, start: Start | None) -> None:
        super().__init__(events, link)
        self._link, self._start, self._capabilities = link, start, capabilities
        self._process: asyncio.Task[Ended] | None = None
        self._pause, self._not_before = 0.0, float("-inf")

    async def turn(self) -> float:
        if self._start is None:
            return 3600.0
        if self._process is not None:
            if not self._process.done():
                return _EVERY
            await self._judge(self._process.result())
            self._process = None
        if (pause := self._not_before - time.monotonic()) > 0:
            return pause
        if await self._is_any_held() and not self.stopping:
            self._process = asyncio.create_task(self._run(self._start))
        return _EVERY

    async def _is_any_held(self) -> bool:
        names = sorted(ALONE + name for name in self._capabilities.to_try)
        return bool(names and await gates.holding_among(await self._link.get(), names))

    async def _run(self, start: Start) -> Ended:
        try:
            return await start()
        except OSError as error:
            return Ended(how=f"it could not be started: {error}", running=None)
        finally:
            self.wake()

    async def _judge(self, ended: Ended) -> None:
        if ended.how is None:
            self._pause = 0.0
            return
        if ended.running is not None:
            await self._park(ended.running, f"its worker process ended ({ended.how}) while it ran alone")
            self._pause = 0.0
            return
        self.events.emit("trial.failed", how=ended.how)
        self._pause = min(max(_FIRST_PAUSE, 2 * self._pause), _LONGEST_PAUSE)
        self._not_before = time.monotonic() + self._pause

    async def _park(self, running: Running, reason: str) -> None:
        connection = await self._link.get()
        is_held = await parking.hold_for_good(
            connection, running.partition, running.id, token=running.token, reason=reason
        )
        if is_held:
            self.events.emit("execution.quarantined", execution=str(running.id), reason=reason)

    async def end(self) -> None:
        """Has the process drain, and waits for that."""
        self.stop()
        if self._process is not None:
            self._process.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._process], timeout=_UNTIL_IT_LEFT)
