"""Detects that the event loop is blocked.

A handler that computes or waits without awaiting blocks everything else in its process: no other row starts, no
response is read, and no lease is renewed. Nothing in the loop can report the blockage, so a thread, the watchdog,
checks that the loop runs. It reports each blockage once, with the loop's stack, and stands in for the blocked loop
(``blocked_loop_stand_in``). It also keeps resetting the timer that ends a process in which not even this thread can run
(``forced_exit``).
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Sequence

from pgsched.domain.execution import ClaimedExecution
from pgsched.telemetry import Events
from pgsched.worker.run.blocked_loop_stand_in import RowsInHand, StandIn
from pgsched.worker.run.forced_exit import ExitStatus, ProcessExit
from pgsched.worker.run.lane_state import Lane

_CLOCK = time.monotonic
BLOCKED_AFTER = 1.0
"""Seconds without a turn after which the loop counts as blocked."""
_LONGEST_STACK = 4_000


class Watchdog:
    """Checks that the loop calls ``beat`` at least every ``after`` seconds. All other work is done in the thread,
    including the calls of listeners for ``loop.blocked``. ``stand_in`` does the work of a blocked loop, and
    ``process_exit`` ends a process that cannot recover."""

    def __init__(
        self,
        events: Events,
        *,
        stand_in: StandIn | None = None,
        process_exit: ProcessExit | None = None,
        after: float = BLOCKED_AFTER,
    ) -> None:
        self._stand_in, self._process_exit = stand_in, process_exit
        self._events, self._after = events, after
        self._turned_at = self._told_of = float("inf")
        self._closing = threading.Event()
        self._lanes: Sequence[Lane] = ()
        self._hand: RowsInHand | None = None
        self.culprit: ClaimedExecution | None = None
        """The row whose handler blocked the loop when the loop was last found blocked."""

    def start(self, lanes: Sequence[Lane] = (), hand: RowsInHand | None = None) -> None:
        """Watches the running loop, in which these lanes deliver the rows in hand."""
        self._lanes, self._hand = lanes, hand
        self._turned_at = time.monotonic()
        if self._process_exit is not None:
            self._process_exit.wind()  # the first handler may start before the thread
        watched = asyncio.get_running_loop(), threading.get_ident()
        threading.Thread(target=self._watch, args=watched, name="pgsched-watchdog", daemon=True).start()

    def beat(self, now: float) -> float:
        """Records that the loop is running. Returns the seconds for which it was blocked, or 0 if only briefly."""
        blocked, self._turned_at = now - self._turned_at, now
        if blocked < self._after:
            return 0.0
        if self._told_of != now - blocked:
            self.culprit = None
        self._events.emit("loop.resumed", seconds=round(blocked, 3), **_described(self.culprit))
        return blocked

    def close(self) -> None:
        self._closing.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        looked_at = time.monotonic()
        while not self._closing.wait(self._after / 4):
            if self._process_exit is not None:
                if time.monotonic is not _CLOCK:
                    self._process_exit.now(
                        ExitStatus.BROKEN, "time.monotonic was replaced, so the worker can no longer measure time", ()
                    )
                self._process_exit.wind()
            turned_at, before, looked_at = self._turned_at, looked_at, time.monotonic()
            if looked_at - before > self._after:  # the whole process was stopped, so the loop also resumes now
                continue
            blocked = looked_at - turned_at
            if blocked < self._after:
                self._rest()
                continue
            if turned_at != self._told_of:
                self._tell(loop, thread, turned_at, blocked)
            if turned_at == self._told_of and self._stand_in is not None and self._hand is not None:
                until = next((lane.expires for lane in self._lanes if self._blocks(lane)), None)
                self._stand_in.step(self._hand, turned_at, self.culprit, until)
        self._rest()
        if self._process_exit is not None:
            self._process_exit.unwind()

    def _rest(self) -> None:
        if self._stand_in is not None:
            self._stand_in.rest()

    def _blocks(self, lane: Lane) -> bool:
        return self.culprit is not None and lane.execution is self.culprit

    def _tell(self, loop: asyncio.AbstractEventLoop, thread: int, turned_at: float, blocked: float) -> None:
        frame = sys._current_frames().get(thread)
        stack = "".join(traceback.format_stack(frame)) if frame else ""
        task = asyncio.current_task(loop)
        culprit = next((lane.execution for lane in self._lanes if task and lane.task is task), None)
        if self._turned_at == turned_at:  # if the loop has run since then, the stack is unrelated
            self.culprit, self._told_of = culprit, turned_at
            described = _described(culprit)
            self._events.emit("loop.blocked", seconds=round(blocked, 3), **described, stack=stack[-_LONGEST_STACK:])


def _described(row: ClaimedExecution | None) -> dict[str, str]:
    if row is None:
        return {}
    return {"target": row.target, "execution": row.uuid, "client": row.client_id}
