"""Calls Python handlers in child processes, where they can harm only themselves.

A handler can end its process, for example by a fault in an extension or by using up all memory. Every execution in
flight in that process is then lost, and it is unknown which handler is to blame. So all these executions are handed
back without counting an attempt. Once an execution has been lost ``LOSSES`` times, it is called in isolation: in a
child process that calls one handler at a time. If the child ends, the handler is to blame, and the attempt has failed.
The worker survives, and settles the outcome.

Children are kept for the next call, because most lost executions are innocent. But whatever a handler leaves behind,
such as a thread, can end the child during the next call. So if the child had already made other calls, the
execution is handed back once more, and gets a fresh child the next time.
"""

import asyncio
import pickle
import signal
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pgsched.delivery.slots import Slots, alone
from pgsched.domain.attempt_outcome import Failed, Outcome, Released
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.telemetry import Events

LOSSES = 2
"""Number of times an execution must be lost, or stopped together with its worker, before it is called in isolation."""
_MOST = 4
_LONGEST_IDLE, _PAUSE = 10.0, 1.0
_LENGTH = struct.Struct("!Q")

Call = tuple[ClaimedExecution, Options, float]
"""The arguments of ``Channel.deliver``. They are pickled and sent to a child."""
StartChild = Callable[[], Awaitable[asyncio.subprocess.Process]]
"""Starts a child. The child reads calls from standard input. It writes None to standard output when it is ready, and
then the outcome of each call."""


def framed(answer: Outcome | None) -> bytes:
    """Encodes what a child writes to its pipe: an outcome, or None for readiness."""
    body = pickle.dumps(answer)
    return _LENGTH.pack(len(body)) + body


@dataclass(slots=True, eq=False)
class _Child:
    process: asyncio.subprocess.Process
    calls: int = 0

    async def answer(self) -> Any:
        """Reads what the child writes next. Raises EOFError if the child has ended."""
        assert self.process.stdout is not None
        [length] = _LENGTH.unpack(await self.process.stdout.readexactly(_LENGTH.size))
        return pickle.loads(await self.process.stdout.readexactly(length))

    async def deliver(self, call: Call) -> Outcome:
        assert self.process.stdin is not None
        self.calls += 1
        self.process.stdin.write(pickle.dumps(call))
        outcome: Outcome = await self.answer()
        return outcome


class Isolation(Slots):
    """The children of one worker process. A slot is a child that is ready. If no child is ready, one is started, and
    the execution waits outside the lanes, so that the start does not count as part of the attempt."""

    def __init__(self, start: StartChild, events: Events, *, is_shared: Callable[[], bool] = alone) -> None:
        super().__init__("processes for isolated handlers", _MOST, is_shared=is_shared)
        self._start, self._events = start, events
        self._idle: list[_Child] = []
        self._starting: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[int]] = set()

    def free_for(self, client: str) -> int:
        return min(super().free_for(client), len(self._idle))

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Makes one call in a child. If the caller cancels the call, the child is killed. Raises NoFreeSlot if no child
        is ready."""
        is_fresh = (execution.losses or 0) > LOSSES or options.max_attempts == 1
        child = self._take_child(execution.client_id, is_fresh)
        try:
            outcome = await child.deliver((execution, options, deadline))
            self._keep(child)
        except (EOFError, OSError):
            outcome = await self._outcome_of_end(child, execution)
        except BaseException:
            self._end(child)
            raise
        finally:
            self.give_back(execution.client_id)
        return outcome

    async def close(self) -> None:
        """Ends all children. All calls must have ended."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        while self._idle:
            self._end(self._idle.pop())
        if self._ending:
            await asyncio.wait(self._ending)

    def _take_child(self, client: str, is_fresh: bool) -> _Child:
        while is_fresh and self._idle and self._idle[-1].calls:
            self._end(self._idle.pop())
        if not self._idle and super().free_for(client) > 0:
            self._start_one()
        self.take(client)
        return self._idle.pop()

    def _start_one(self) -> None:
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._make_ready())

    async def _make_ready(self) -> None:
        try:
            child = _Child(await self._start())
            try:
                await child.answer()
            except BaseException:
                self._end(child)
                raise
        except (EOFError, OSError) as error:  # the child has logged the reason; executions keep waiting
            self._events.emit("isolation.failed", error=str(error))
            await asyncio.sleep(_PAUSE)
        else:
            self._keep(child)
            self.tell()

    def _keep(self, child: _Child) -> None:
        self._idle.append(child)
        asyncio.get_running_loop().call_later(_LONGEST_IDLE, self._end_idle, child, child.calls)

    def _end_idle(self, child: _Child, calls: int) -> None:
        if child in self._idle and child.calls == calls:
            self._idle.remove(child)
            self._end(child)

    def _end(self, child: _Child) -> None:
        with suppress(ProcessLookupError):
            child.process.kill()
        ending = asyncio.create_task(child.process.wait())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _outcome_of_end(self, child: _Child, row: ClaimedExecution) -> Outcome:
        try:
            async with asyncio.timeout(_PAUSE):
                status = await child.process.wait()
        except TimeoutError:  # the child has closed its end of the pipe, but is alive
            self._end(child)
            status = await child.process.wait()
        how = f"exit status {status}" if status >= 0 else signal.Signals(-status).name
        self._events.emit("handler.died", how=how, target=row.target, execution=row.uuid, client=row.client_id)
        if self.freed is not None:  # other executions are waiting for a child
            self._start_one()
        if child.calls > 1:
            return Released(by_drain=True)
        return Failed(error=f"the handler's process ended ({how})", retryable=True)
