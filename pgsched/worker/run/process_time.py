"""Whose handlers take the process's time, where several clients share it.

There is one event loop and one interpreter lock. Handlers that block the loop for less than what the watchdog speaks
of, hundreds of them one after the other, or functions that compute in threads, keep everything else waiting: claims,
settles and the rows of others. Nobody's handlers may do so for more than a part of the time.

While the loop turns as it should nothing is counted. When it is overdue a thread looks every few milliseconds who has
it, and charges the client whose handler that is, or those whose functions have computed in threads meanwhile. What is
charged is forgiven by and by. A client that is charged with too much begins nothing until enough is forgiven: its rows
wait as those that find no place do (``shares``).

What the machine takes away is nobody's doing: a look that comes late counts no more than the processor's time that has
really passed in the loop's thread, or one look.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pgsched.domain.execution import Execution
from pgsched.events import Events
from pgsched.worker.run.shares import Shares

PERIOD = 0.02
_OVERDUE = 0.1
"""Seconds without a turn of the loop from which on it is looked who has it."""
_FORGIVEN = 0.2
"""Of each second: so much of its time those have together who would take more."""
_LIMIT, _LONGEST = 0.1, 2.0
_TELL_EVERY = 10.0
_CLOCK_OF = getattr(time, "pthread_getcpuclockid", None)


@dataclass(frozen=True, slots=True)
class Reading:
    """How much time has passed, in all: on the clock, of processors in the loop's thread and in the whole process, and
    in the functions of each client."""

    now: float
    loop: float
    process: float
    functions: Mapping[str, float]


class ProcessTime:
    """``turned_at`` answers with when the loop turned last, ``row_of`` with the row that a task delivers, ``functions``
    with the processor's time that functions of each client have had in threads; all are called in the thread."""

    def __init__(
        self,
        events: Events,
        shares: Shares,
        *,
        turned_at: Callable[[], float],
        row_of: Callable[[asyncio.Task[object]], Execution | None],
        functions: Callable[[], Mapping[str, float]],
    ) -> None:
        self._events, self._shares = events, shares
        self._turned_at, self._row_of, self._functions = turned_at, row_of, functions
        self._charged: dict[str, float] = {}
        self._targets: dict[str, str] = {}
        self._told_at: dict[str, float] = {}
        self._before: Reading | None = None
        self._forgiven_at = 0.0
        self._closing = threading.Event()

    def start(self) -> None:
        """Watches the running loop."""
        watched = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._watch, args=watched, name="pgsched-process-time", daemon=True).start()

    def close(self) -> None:
        self._closing.set()

    def tell(self) -> None:
        """Says in the log who takes too much, now and then. To be called in the loop."""
        for client in self._shares.over:
            now = time.monotonic()
            if now - self._told_at.get(client, float("-inf")) >= _TELL_EVERY:
                self._told_at[client] = now
                self._events.emit("loop.shared", client=client, target=self._targets.get(client), advice=_ADVICE)

    def charge(self, client: str, seconds: float, target: str | None = None) -> None:
        self._charged[client] = min(self._charged.get(client, 0.0) + seconds, _LONGEST)
        if target is not None:
            self._targets[client] = target

    def judge(self, now: float) -> None:
        """Forgives what is to be forgiven by now, and sees who is over."""
        before = self._shares.over
        forgiven = _FORGIVEN * (now - self._forgiven_at) / max(len(before), 1)
        self._forgiven_at = now
        left = {client: seconds - forgiven for client, seconds in self._charged.items() if seconds > forgiven}
        self._charged = left
        over = {client for client, seconds in left.items() if seconds > _LIMIT / (2 if client in before else 1)}
        if over != before:
            self._shares.hold_back(frozenset(over))

    def count(self, row: Execution | None, before: Reading, after: Reading) -> None:
        """Charges what has passed between two looks, in which nothing but this row was seen to have the loop."""
        passed, loop = after.now - before.now, after.loop - before.loop
        others = after.process - before.process - loop
        if others > passed / 2:  # the loop waits for the interpreter's lock
            used = {client: seconds - before.functions.get(client, 0.0) for client, seconds in after.functions.items()}
            whole = max(sum(used.values()), passed)
            for client, seconds in used.items():
                if seconds > 0:
                    self.charge(client, passed * seconds / whole)
        if row is not None:
            held = loop if others > passed / 2 else max(loop, min(passed, PERIOD))
            self.charge(row.client_id, held, row.target)

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        clock = _CLOCK_OF(thread) if _CLOCK_OF else None
        self._forgiven_at = time.monotonic()
        while not self._closing.wait(PERIOD):
            now = time.monotonic()
            if now - self._turned_at() < _OVERDUE or not self._shares.wanted:
                self._before = None
            else:
                self._look(loop, now, clock)
            if self._charged or self._shares.over:
                self.judge(now)
            else:
                self._forgiven_at = now

    def _look(self, loop: asyncio.AbstractEventLoop, now: float, clock: int | None) -> None:
        in_loop = time.clock_gettime(clock) if clock is not None else 0.0
        task = asyncio.current_task(loop)
        row = self._row_of(task) if task else None
        after = Reading(now, in_loop, time.process_time() if clock is not None else 0.0, self._functions())
        before, self._before = self._before, after
        if before is not None:
            self.count(row, before, after)


_ADVICE = "do not block the event loop: write def for what blocks, and start a process for what computes"
