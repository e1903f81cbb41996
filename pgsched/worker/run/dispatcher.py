"""Starts each row at its instant, in one of a fixed number of lanes.

A lane is a task that delivers one row after another. So rows need no tasks or timers of their own, and a handler that
never waits costs no turn of the event loop. If more rows are ready when a lane takes one, the lane first wakes a
sleeping lane, so that rows spread over the lanes if their handlers wait.

Rows that are claimed early wait in a heap until their instant. One timer serves all of them, and another timer serves
all timeouts.

Due rows start in rounds (``start_order``). Rows for which there is no slot (``delivery.slots``) wait outside the lanes.
Rows that other workers may have taken (``in_hand.LeaseValidity``) are handed back.

``in_hand`` contains every claimed row that has not been settled or handed back.
"""

import asyncio
import time
from collections.abc import Collection, Iterable
from contextvars import Context
from datetime import timedelta

from pgsched.delivery.own_context import UNUSED, context_of_lanes, own_context
from pgsched.domain.attempt_outcome import Released
from pgsched.domain.execution import KEPT_BACK, ClaimedExecution
from pgsched.domain.execution_options import DEFAULT_OPTIONS
from pgsched.service import Signal
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import AttemptPace, LeaseValidity
from pgsched.worker.run.attempt_timeouts import AttemptTimeouts
from pgsched.worker.run.attempts import Attempts, Equipment, ended_by_drain
from pgsched.worker.run.blocked_loop_stand_in import RowsInHand
from pgsched.worker.run.lane_state import Lane
from pgsched.worker.run.start_order import StartOrder
from pgsched.worker.run.unbegun_row_recall import UnbegunRows
from pgsched.worker.run.upcoming import Upcoming
from pgsched.worker.run.waiting_for_slot import Postponing, WaitingForSlot
from pgsched.worker.run.watchdog import Watchdog

_ROWS_BEFORE_YIELDING = 128
_DEAF_AFTER = 5.0


class Dispatcher:
    """Delivers claimed rows, and passes one outcome per row to ``settle``. When services have found too little room
    (``free``), the signal ``room`` tells them that there is room again."""

    def __init__(
        self,
        equipment: Equipment,
        clock: DatabaseClock,
        *,
        concurrency: int,
        ahead: float,
        sure: float = 0.0,
        timeouts: AttemptTimeouts | None = None,
    ) -> None:
        events, shares, payloads = equipment.events, equipment.shares, equipment.payloads
        self._clock, self._settle, self.in_hand = clock, equipment.settle, equipment.in_hand
        self.room: Signal[[]] = Signal()
        self.in_hand.left.connect(payloads.note_left)
        self.in_hand.eased.connect(self._look_for_room)
        self.concurrency = concurrency
        self._pace = AttemptPace(concurrency=concurrency, ahead=ahead)
        self._events, self._payloads, self.shares = events, payloads, shares
        self._waiting = WaitingForSlot(self._resume)
        self._postponing = Postponing(self._waiting, self._settle, events)
        self.tenure = LeaseValidity()
        self._rounds = StartOrder(lambda: shares.wanted)
        self._ready = self._rounds.now
        self._upcoming = Upcoming(clock, ahead=ahead, due=self._rounds.add, rung=self._wake_lane)
        self.unbegun = UnbegunRows(
            self._rounds, self._upcoming, self._waiting, in_hand=self.in_hand, settle=self._settle, sure=sure
        )
        self._timeouts = timeouts or AttemptTimeouts(Watchdog(events))
        self._lanes = [Lane() for _ in range(concurrency)]
        self._idle: list[Lane] = []
        self._context = Context()
        shares.idle = self._idle.__len__
        self._waking = self._resuming = self._wants_room = False
        self._attempts = Attempts(
            equipment,
            clock=clock,
            tenure=self.tenure,
            pace=self._pace,
            unbegun=self.unbegun,
            waiting=self._waiting,
            doubt=self._doubt,
        )

    def start(self) -> None:
        self._upcoming.start()
        hand = RowsInHand(tenure=self.tenure, in_hand=self.in_hand, unbegun=self.unbegun)
        self._timeouts.start(self._lanes, hand, self._look)
        self._context = context_of_lanes()
        for lane in self._lanes:
            self._begin_task(lane)

    @property
    def capacity(self) -> int:
        """The number of rows to hold."""
        return self._pace.capacity

    @property
    def free(self) -> int:
        """The number of further rows for which there is room. If it is low, ``room`` is called when it has risen."""
        left = self.spare
        self._wants_room = left <= self.capacity // 2
        return left

    @property
    def spare(self) -> int:
        """The same number as ``free``, for callers that do not want ``room`` to be called."""
        return max(self._slots_left, 0) if self.tenure.is_alive and not self._payloads.is_full else 0

    @property
    def free_for_held(self) -> int:
        """The number of further rows from gates for which there is room. Some room is reserved for such rows, because
        other claims use up ``free`` at once."""
        return max(self._slots_left + self.concurrency // 4 + 1, 0) if self.tenure.is_alive else 0

    def taken(self, client: str) -> int:
        """Returns how much of the room this client uses."""
        in_hand = [row.client_id for row in self.in_hand.rows.values()].count(client)
        return in_hand - self._waiting.by_client()[client]

    @property
    def _slots_left(self) -> int:
        waiting = self._waiting.count
        if not self.shares.wanted:  # with several clients, claims skip clients with many waiting rows instead
            waiting = min(waiting, self.concurrency)
        return self.capacity - len(self.in_hand) + len(self._upcoming.far) + waiting + len(self.in_hand.unrecorded)

    def submit(self, rows: list[ClaimedExecution], sure_until: float = float("inf")) -> None:
        """Takes rows whose leases are valid until ``sure_until`` (monotonic), and starts each at its instant."""
        self.tenure.claimed(sure_until)
        self.in_hand.take(rows)
        self._timeouts.has_work.set()
        if sure_until <= self.unbegun.told_until or self.unbegun.named:
            rows = self.unbegun.sift(rows, sure_until)
        self._begin(rows)

    def _begin(self, rows: Iterable[ClaimedExecution]) -> None:
        now, start = self._clock.now(), self._rounds.add if self.shares.wanted else self._ready.append
        some_wait = False
        for row in rows:
            if row.fire_at <= now:
                start(row)
            else:
                some_wait = True
                self._upcoming.add(row, now)
        self._wake_lane()
        if some_wait:
            self._upcoming.set_alarm()

    def _look_for_room(self) -> None:
        if self._wants_room and self._slots_left >= self.capacity // 2:
            self._wants_room = False
            self.room()

    def go_on(self, ids: Iterable[bytes], asked_at: float = float("inf")) -> None:
        """Starts kept-back rows that a query at ``asked_at`` (monotonic) has found unchanged."""
        self._begin(self.unbegun.let_go_on(ids, asked_at))

    def drop(self, ids: Collection[bytes]) -> None:
        """Gives up rows that no longer belong to this worker. Cancels their attempts, whose outcomes do not count."""
        for row in self.unbegun.take(ids):
            self._settle(row, DEFAULT_OPTIONS, Released(ended=True), 0.0)
        for lane in self._lanes:
            if lane.execution is not None and lane.execution.id in ids:
                lane.stop()

    def hand_back_doubted(self) -> None:
        """Hands back the rows that have not begun, if their leases are in doubt."""
        if time.monotonic() > self.tenure.until:
            self.hand_back()

    def hand_back(self) -> None:
        """Hands back every row that has not begun."""
        unstarted = self.unbegun.take_all()
        self.tenure.emptied()
        for row in unstarted:
            self._settle(row, DEFAULT_OPTIONS, Released(), 0.0)

    async def drain(self, limit: timedelta) -> None:
        """Hands back rows that have not begun, lets attempts finish within ``limit``, and hands back the rest."""
        self.hand_back()
        deadline = time.monotonic() + limit.total_seconds()
        while self.running and time.monotonic() < deadline:  # noqa: ASYNC110  lanes end one by one, at shutdown
            await asyncio.sleep(0.01)
        self._attempts.draining = True
        self._timeouts.close()
        self._upcoming.close()
        tasks = [lane.task for lane in self._lanes if lane.task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_DEAF_AFTER)
        for lane in self._lanes:
            if lane.execution is not None:  # the handler ignores the cancellation; another worker gets the row
                self._settle(lane.execution, DEFAULT_OPTIONS, ended_by_drain(lane), 0.0)

    @property
    def stragglers(self) -> bool:
        """Whether a lane is still running after the drain, because its handler ignores the cancellation."""
        return any(lane.task is not None and not lane.task.done() for lane in self._lanes)

    @property
    def is_broken(self) -> bool:
        """Whether a lane or the task for timeouts has ended without a drain."""
        tasks = [self._timeouts.task, *(lane.task for lane in self._lanes)]
        return not self._attempts.draining and any(task is not None and task.done() for task in tasks)

    @property
    def running(self) -> list[ClaimedExecution]:
        """The rows that lanes are delivering."""
        return [lane.execution for lane in self._lanes if lane.execution is not None]

    def held_since(self, moment: float) -> set[bytes]:
        """Returns the ids of rows in hand that were claimed before ``moment`` (monotonic)."""
        rows = [*self.running, *self._attempts.lingering.values(), *self.unbegun.copy()]
        return {row.id for row in rows if self.in_hand.claimed_at.get(row.token, 0.0) < moment}

    def _wake_lane(self) -> None:
        if self._ready and self._idle and not self._waking:
            self._waking = True
            sleeping = self._idle.pop().sleeping
            if sleeping and not sleeping.done():
                sleeping.set_result(None)

    def _begin_task(self, lane: Lane) -> None:
        """Starts the lane's task with the context variables that were set when the worker started."""
        lane.task = asyncio.create_task(self._run(lane), name=UNUSED, context=self._context.run(own_context))

    async def _run(self, lane: Lane) -> None:
        assert lane.task is not None
        try:
            await self._deliver_on(lane, lane.task)
        except asyncio.CancelledError:
            if self._attempts.draining:
                raise
        # A handler has left state behind in this task or cancelled it without ending an attempt, or a timeout came too
        # late. Code that still refers to the task must not affect another row, so the lane goes on in a new task.
        if not self._attempts.draining:
            self._begin_task(lane)

    async def _deliver_on(self, lane: Lane, task: asyncio.Task[None]) -> None:
        """Delivers one row after another until the lane's task is cancelled or a handler has left state in the task."""
        attempts, count = self._attempts, 0
        while not task.cancelling():
            while self._ready and not task.cancelling():
                row = self._ready.popleft()
                if self._rounds.behind and not self._ready:
                    self._rounds.begin_next()
                self._wake_lane()
                if self._waiting.count and self._waiting.join(row, time.monotonic()):
                    pass
                elif self.shares.wanted and len(self._idle) < self.shares.scarce:
                    await attempts.shared(lane, row)
                elif row.payload == KEPT_BACK:
                    await attempts.large(lane, row)
                else:
                    await attempts.plain(lane, row)
                if task.get_name() != UNUSED:
                    return
                count += 1
                if count % _ROWS_BEFORE_YIELDING == 0:
                    await asyncio.sleep(0)
            if not task.cancelling():
                await self._sleep(lane)

    async def _sleep(self, lane: Lane) -> None:
        lane.sleeping = asyncio.get_running_loop().create_future()
        self._idle.append(lane)
        try:
            await lane.sleeping
        except asyncio.CancelledError:
            if lane in self._idle:
                self._idle.remove(lane)
            else:
                self._waking = False
            raise
        self._waking = False

    def _doubt(self, row: ClaimedExecution) -> None:
        """Hands back this row and all others that have not begun, because other workers may have taken them."""
        self._events.emit("lease.doubted", count=len(self.unbegun) + 1)
        self._ready.appendleft(row)
        self.hand_back()

    def _resume(self, row: ClaimedExecution) -> None:
        """Starts a row for which there is now a slot. Usually a lane is about to finish a row and takes this one."""
        self._ready.appendleft(row)
        if not self._resuming:
            self._resuming = True
            asyncio.get_running_loop().call_soon(self._wake_for_resumed)

    def _wake_for_resumed(self) -> None:
        self._resuming = False
        self._wake_lane()

    def _look(self, occupied: float) -> None:
        """Does regular work. Must be called several times a second. ``occupied`` is the total seconds that all running
        attempts have taken."""
        if self.tenure.is_given_up:
            self.hand_back()
        self._pace.observe_running(occupied)
        self._attempts.settle_returned()
        self._hand_back_excess()
        if self._waiting.count:
            self._waiting.look()
            self._postponing.turn()
        self.shares.look(self._waiting.by_client())

    def _hand_back_excess(self) -> None:
        """Hands back rows beyond the capacity, which drops when attempts become slow. They would only wait here."""
        for _ in range(len(self._rounds) - self.capacity):
            self._settle(self._rounds.take_last(), DEFAULT_OPTIONS, Released(), 0.0)
