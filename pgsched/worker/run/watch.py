"""Looks after the lanes while the loop turns: deadlines, rows that have waited too long, and clients that take too
much.

One task does so for all lanes, several times a second. Two threads look after the loop itself: one whether it turns at
all (``watchdog``), one which clients take the process's time (``process_time``).
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from pgsched.delivery.accounts import Accounts
from pgsched.delivery.steps import meter
from pgsched.domain.execution import Execution
from pgsched.events import Events
from pgsched.worker.run.lane import Lane
from pgsched.worker.run.process_exit import ProcessExit
from pgsched.worker.run.process_time import ProcessTime
from pgsched.worker.run.shares import Shares
from pgsched.worker.run.stand_in import Hand, StandIn
from pgsched.worker.run.watchdog import Watchdog

_WATCH_EVERY = 0.05


class AttemptWatch:
    """``functions`` returns the processor time that functions of each client have had in threads, and ``beaten`` is
    called at each beat of the loop."""

    def __init__(
        self,
        events: Events,
        shares: Shares,
        *,
        stand_in: StandIn | None = None,
        process_exit: ProcessExit | None = None,
        accounts: Accounts | None = None,
        functions: Callable[[], Mapping[str, float]] = dict,
        beaten: Callable[[], None] = lambda: None,
    ) -> None:
        self._shares, self._stand_in, self._beaten = shares, stand_in, beaten
        self._accounts = accounts or Accounts()
        self._accounts.hold_back = shares.hold_back
        self._time = ProcessTime(events, self._accounts, functions=functions)
        rest = stand_in.rest if stand_in else lambda: None
        self._watchdog = Watchdog(
            events, self._delivered_by, stand_in=self._have_stood_in, rest=rest, process_exit=process_exit
        )
        self.task: asyncio.Task[None] | None = None
        """The task that looks after the lanes, once it was started."""
        self._lanes: Sequence[Lane] = ()
        self._hand: Hand
        self._look: Callable[[float], None]

    def start(self, lanes: Sequence[Lane], hand: Hand, look: Callable[[float], None]) -> None:
        """Looks after these lanes in the running loop. ``look`` is called each time, with the seconds that all attempts
        under way have taken together."""
        self._lanes, self._hand, self._look = lanes, hand, look
        self._watchdog.start()
        self._time.start()
        self.task = asyncio.create_task(self._look_on())

    def close(self) -> None:
        self._accounts.open()
        self._watchdog.close()
        self._time.close()
        if self.task:
            self.task.cancel()

    def _have_stood_in(self, since: float, culprit: Execution | None) -> None:
        until = next((lane.expires for lane in self._lanes if culprit and lane.execution is culprit), None)
        if self._stand_in is not None:
            self._stand_in.step(self._hand, since, culprit, until)

    def _delivered_by(self, task: asyncio.Task[object]) -> Execution | None:
        return next((lane.execution for lane in self._lanes if lane.task is task), None)

    async def _look_on(self) -> None:
        before = time.monotonic()
        while True:
            await asyncio.sleep(_WATCH_EVERY)
            now = time.monotonic()
            blocked = self._watchdog.beat(now)
            self._beaten()
            occupied = self.look_at(self._lanes, now, now - before, blocked)
            self._look(occupied)
            if self._shares.wanted:
                meter()
            self._accounts.beat(now, wanted=self._shares.wanted, in_hand=self._hand.in_hand.rows.values())
            self._time.tell()
            before = now

    def look_at(self, lanes: Sequence[Lane], now: float, passed: float, blocked: float = 0.0) -> float:
        """Ends attempts whose time is over, and returns the seconds that all others have taken together. ``passed`` are
        the seconds since the call before, ``blocked`` those for which the loop stood still, if that was too long."""
        occupied = 0.0
        for lane in lanes:
            if lane.execution is None:
                continue
            if blocked and lane.execution is not self._watchdog.culprit:
                lane.lend(blocked)
            elif self._accounts.over and self._accounts.paces(lane.execution.client_id):
                lane.lend(passed)
            occupied += now - lane.started
            if lane.expires < now and lane.task and not lane.expired:
                lane.expired = True
                lane.task.cancel()
        return occupied
