"""Starts processes for executions that may end their worker's process, and sets aside those that do.

A handler can end its process: by ``os._exit``, by a fault in an extension, by taking all the memory there is. The other
executions that the process had in hand are lost with it. All of them go back, without an attempt counted; but
executions that several lost workers had in hand are held at a gate of its own, and run from there in a process that has
nothing else in hand (``trial``). This service of one worker of the fleet starts that process when it is needed, and
hears from it what it is about to run. If the process ends then, that execution is held for good with the reason, until
somebody decides.

An execution that runs alone may take its time, at the expense of its own client only: when one has run for ten seconds
and others wait, another process is started that passes over that client, up to four processes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
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
_LONG, _MOST = 10.0, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The execution that such a process runs, or is about to run."""

    partition: int
    id: UUID
    token: int
    client: str


@dataclass(slots=True)
class Trying:
    """Such a process: the clients that it passes over, and what it has in hand according to its last report."""

    without: Sequence[str]
    running: Running | None = None
    since: float = 0.0

    def hears(self, running: Running | None) -> None:
        if running != self.running:
            self.running, self.since = running, time.monotonic()

    @property
    def slow(self) -> str | None:
        """The client whose execution it has had for a long time."""
        if self.running is None or time.monotonic() - self.since < _LONG:
            return None
        return self.running.client


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How such a process ended, in words, unless it was told to or had finished; and what it was running."""

    how: str | None
    running: Running | None


Start = Callable[[Trying], Awaitable[Ended]]
"""Runs such a process until it ends, and notes its reports. When cancelled, it has the process drain first."""


class Witness(Service):
    """Starts the process where it is this worker's turn to (``Capabilities.to_try``)."""

    name = "witness"

    def __init__(self, link: Link, events: Events, capabilities: Capabilities, *, start: Start | None) -> None:
        super().__init__(events, link)
        self._link, self._start, self._capabilities = link, start, capabilities
        self._processes: dict[asyncio.Task[Ended], Trying] = {}
        self._pause, self._not_before = 0.0, float("-inf")

    async def turn(self) -> float:
        if self._start is None:
            return 3600.0
        for process in [process for process in self._processes if process.done()]:
            await self._judge(process.result())
            del self._processes[process]
        if (pause := self._not_before - time.monotonic()) > 0:
            return pause
        slow = [client for trying in self._processes.values() if (client := trying.slow) is not None]
        if len(slow) == len(self._processes) < _MOST and await self._is_any_held(slow) and not self.stopping:
            trying = Trying(without=slow)
            self._processes[asyncio.create_task(self._run(self._start, trying))] = trying
        return _EVERY

    async def _is_any_held(self, without: Sequence[str]) -> bool:
        names = sorted(ALONE + name for name in self._capabilities.to_try)
        if not names:
            return False
        connection = await self._link.get()
        if without:
            return bool(await gates.suspects(connection, names, without=without))
        return bool(await gates.holding_among(connection, names))

    async def _run(self, start: Start, trying: Trying) -> Ended:
        try:
            return await start(trying)
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
        """Holds an execution for good, also where others have taken it back from a process that could not renew it."""
        connection = await self._link.get()
        for token in (running.token, None):
            if await parking.hold_for_good(connection, running.partition, running.id, token=token, reason=reason):
                self.events.emit("execution.quarantined", execution=str(running.id), reason=reason)
                return

    async def end(self) -> None:
        """Drains the processes, and waits for them."""
        self.stop()
        for process in self._processes:
            process.cancel()
        if self._processes:
            await asyncio.wait(self._processes, timeout=_UNTIL_IT_LEFT)
