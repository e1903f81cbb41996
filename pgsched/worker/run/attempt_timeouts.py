"""Ends attempts that have timed out, and shows the watchdog that the loop is running, several times a second."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pgsched.worker.run.blocked_loop_stand_in import RowsInHand
from pgsched.worker.run.lane_state import Lane
from pgsched.worker.run.watchdog import Watchdog

_WATCH_EVERY, _IDLE_EVERY = 0.05, 0.5


class AttemptTimeouts:
    """A task that ends timed-out attempts. ``beaten`` is called at each check."""

    def __init__(self, watchdog: Watchdog, *, beaten: Callable[[], None] = lambda: None) -> None:
        self._watchdog, self._beaten = watchdog, beaten
        self.task: asyncio.Task[None] | None = None
        """The task, once started."""
        self.has_work = asyncio.Event()
        """Set when rows are taken. While no rows are in hand, the task only shows now and then that the loop is
        running."""
        self._lanes: Sequence[Lane] = ()
        self._hand: RowsInHand
        self._look: Callable[[float], None]

    def start(self, lanes: Sequence[Lane], hand: RowsInHand, look: Callable[[float], None]) -> None:
        """Watches these lanes. Each check calls ``look`` with the total seconds that running attempts have taken."""
        self._lanes, self._hand, self._look = lanes, hand, look
        self._watchdog.start(lanes, hand)
        self.task = asyncio.create_task(self._watch())

    def close(self) -> None:
        self._watchdog.close()
        if self.task:
            self.task.cancel()

    async def _watch(self) -> None:
        while True:
            if not self._hand.in_hand:
                self.has_work.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_IDLE_EVERY):
                        await self.has_work.wait()
                self._watchdog.beat(time.monotonic())  # before the lanes begin
            await asyncio.sleep(_WATCH_EVERY)
            now = time.monotonic()
            blocked = self._watchdog.beat(now)
            self._beaten()
            self._look(self._end_overdue(now, blocked))

    def _end_overdue(self, now: float, blocked: float) -> float:
        """Ends timed-out attempts, after the loop was blocked for ``blocked`` seconds. Returns the total seconds that
        all running attempts have taken."""
        occupied = 0.0
        for lane in self._lanes:
            if lane.execution is None:
                continue
            if blocked and lane.execution is not self._watchdog.culprit:
                lane.lend(blocked)
            occupied += now - lane.started
            if lane.expires < now and lane.task and not lane.expired:
                lane.expired = True
                lane.task.cancel()
        return occupied
