"""Starts each row at its instant, in one of a fixed number of lanes.

A lane is a task that delivers one row after another for as long as there are any: no task and no timer is made for a
row, and a handler that never waits costs no turn of the event loop. A lane that takes a row while more are ready wakes
one sleeping lane first, so that rows that do wait spread over the lanes by themselves.

Rows claimed a moment early are held in a heap until their instant; one timer serves them all. Deadlines are watched by
one timer too, not by one a row.

``in_hand`` is what this process answers for: every claimed row that has not been settled or handed back.
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta

from pgsched.delivery.channel import Channel
from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Late, Outcome, Released, lateness
from pgsched.domain.policy import Options, parse_options, without_spans
from pgsched.errors import InvalidInput
from pgsched.worker.alarm import Alarm
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.lane import Lane

Settle = Callable[[Execution, Options, Outcome, float], None]
_ROWS_BEFORE_YIELDING = 128
_WATCH_EVERY = 0.05
_DEAF_AFTER = 5.0
_WEIGHT = 0.02
_QUICKEST = 1e-5
_MOST_WAITING = 4_000
_APART = 0.0005  # rows whose instants are closer than this may start together
_DEFAULT = parse_options(None)


class Dispatcher:
    """Delivers claimed rows and hands each outcome to ``settle``, exactly once for each row."""

    def __init__(
        self,
        channel: Channel,
        clock: DatabaseClock,
        *,
        concurrency: int,
        ahead: float,
        settle: Settle,
        room: Callable[[], None],
        defaults: Callable[[str, int], tuple[bytes, ...]],
    ) -> None:
        self._channel, self._clock, self._settle, self._room = channel, clock, settle, room
        self._defaults = defaults
        self.concurrency, self._ahead = concurrency, ahead
        self._typical = ahead  # seconds of an attempt, the last ones counting most
        self.in_hand: dict[bytes, Execution] = {}
        self._ready: deque[Execution] = deque()
        self._held: list[tuple[int, int, Execution]] = []
        self._far: set[bytes] = set()  # what a gate lets pass later than claims look ahead; it takes no room yet
        self._apart: set[bytes] = set()  # what has ended, and cannot be recorded yet
        self._lanes = [Lane() for _ in range(concurrency)]
        self._idle: list[Lane] = []
        self._waking = False
        self._order = 0
        self._alarm: Alarm | None = None
        self._rang_at = float("-inf")
        self._watch: asyncio.Task[None] | None = None
        self._wants_room = False
        self._draining = False

    def start(self) -> None:
        self._alarm = Alarm(self._fire)
        self._watch = asyncio.create_task(self._watch_lanes())
        for lane in self._lanes:
            lane.task = asyncio.create_task(self._run(lane))

    @property
    def capacity(self) -> int:
        """How many rows to have in hand: as many as there are lanes, and what those can finish within the look-ahead.

        Quick handlers need more rows than lanes, or a lane would wait for each claim and each settle; slow ones no
        more, or their rows would wait here while another worker has lanes to spare.
        """
        finished = int(self.concurrency * self._ahead / max(self._typical, _QUICKEST))
        return self.concurrency + min(finished, _MOST_WAITING)

    @property
    def free(self) -> int:
        """How many more rows there is room for. Asking while there is little makes ``room`` be called once there is."""
        left = self._places_left
        self._wants_room = left <= self.capacity // 2
        return max(left, 0)

    @property
    def free_for_held(self) -> int:
        """As many for what gates held, with some places besides: claims take every other one as soon as it is free."""
        return max(self._places_left + self.concurrency // 4 + 1, 0)

    @property
    def _places_left(self) -> int:
        return self.capacity - len(self.in_hand) + len(self._far) + len(self._apart)

    def submit(self, rows: list[Execution]) -> None:
        """Takes claimed rows: those that are due start now, the others at their instant."""
        now = self._clock.now()
        far = now + int(self._ahead * 1e6)
        for row in rows:
            self.in_hand[row.id] = row
            if row.fire_at <= now:
                self._ready.append(row)
            else:
                self._order += 1
                if row.fire_at > far:
                    self._far.add(row.id)
                heapq.heappush(self._held, (row.fire_at, self._order, row))
        self._wake_lane()
        self._set_alarm()

    def settled(self, id: bytes, token: int) -> None:
        """The row is out of this process's hands."""
        held = self.in_hand.get(id)
        if held is not None and held.token == token:
            del self.in_hand[id]
            self._apart.discard(id)
            if self._wants_room and len(self.in_hand) <= self.capacity // 2:
                self._wants_room = False
                self._room()

    def set_apart(self, ids: Iterable[bytes]) -> None:
        """These have ended, but somebody has locked them, so that it cannot be recorded yet: they stay in hand, take no
        room, and need what they carry no more."""
        for id in ids:
            if id in self.in_hand and id not in self._apart:
                self.in_hand[id] = self.in_hand[id]._replace(payload=None)
                self._apart.add(id)
        if self._wants_room and self._places_left > self.capacity // 2:
            self._wants_room = False
            self._room()

    def is_late(self, row: Execution) -> bool:
        """Whether its time is over, so that nobody will be called for it."""
        try:
            return self._time_left(row, self._options_of(row))[1] is not None
        except InvalidInput:
            return False

    def stop_row(self, id: bytes) -> None:
        """Ends the attempt at a row that is not this worker's any more; its outcome will not count."""
        for lane in self._lanes:
            if lane.execution is not None and lane.execution.id == id and lane.task and not lane.expired:
                lane.task.cancel()

    def hand_back(self) -> None:
        """Ends every row that has not started as Released."""
        unstarted = [*self._ready, *(row for _, _, row in self._held)]
        self._ready.clear()
        self._held.clear()
        self._far.clear()
        for row in unstarted:
            self._settle(row, _DEFAULT, Released(), 0.0)

    async def drain(self, limit: timedelta) -> None:
        """Hands back what has not started, lets what runs finish within the limit, and hands back the rest."""
        self.hand_back()
        deadline = time.monotonic() + limit.total_seconds()
        while self._busy() and time.monotonic() < deadline:  # noqa: ASYNC110  lanes end one by one; this is shutdown
            await asyncio.sleep(0.01)
        self._draining = True
        if self._watch:
            self._watch.cancel()
        if self._alarm:
            self._alarm.close()
            self._alarm = None
        tasks = [lane.task for lane in self._lanes if lane.task]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_DEAF_AFTER)
        for lane in self._lanes:
            if lane.execution is not None:  # deaf to the cancellation: its row goes to another worker all the same
                self._settle(lane.execution, _DEFAULT, Released(), 0.0)

    @property
    def stragglers(self) -> bool:
        """Whether a lane goes on after the drain, with a handler that does not let itself be cancelled."""
        return any(lane.task is not None and not lane.task.done() for lane in self._lanes)

    def _busy(self) -> bool:
        return any(lane.execution is not None for lane in self._lanes)

    def _wake_lane(self) -> None:
        if self._ready and self._idle and not self._waking:
            self._waking = True
            sleeping = self._idle.pop().sleeping
            if sleeping and not sleeping.done():
                sleeping.set_result(None)

    async def _run(self, lane: Lane) -> None:
        count = 0
        while True:
            while self._ready:
                row = self._ready.popleft()
                self._wake_lane()
                await self._attempt(lane, row)
                count += 1
                if count % _ROWS_BEFORE_YIELDING == 0:
                    await asyncio.sleep(0)
            await self._sleep(lane)

    async def _sleep(self, lane: Lane) -> None:
        lane.sleeping = asyncio.get_running_loop().create_future()
        self._idle.append(lane)
        try:
            await lane.sleeping
        except asyncio.CancelledError:
            # A deadline that fired as the lane's last row ended; only draining ends a lane.
            if self._draining or lane.task is None:
                raise
            lane.task.uncancel()
            if lane in self._idle:
                self._idle.remove(lane)
                return
        self._waking = False

    async def _attempt(self, lane: Lane, row: Execution) -> None:
        started = lane.started = time.monotonic()
        lane.execution = row
        options, timeout, late = _DEFAULT, _DEFAULT.timeout_seconds, None
        try:
            if row.options is not None or self._defaults(row.client_id, row.partition):
                options = self._options_of(row)
                timeout, late = self._time_left(row, options)
            lane.expires = started + timeout
            outcome = late or await self._channel.deliver(row, options, timeout)
        except InvalidInput as error:
            outcome = Failed(error=str(error), retryable=False)
        except asyncio.CancelledError:
            if self._draining:
                self._settle(row, options, Released(), time.monotonic() - started)
                raise
            outcome = self._cancelled(lane)
        except BaseException as error:  # a lane outlives whatever a handler raises
            outcome = Failed(error=f"{type(error).__name__}: {error}", retryable=True)
        finally:
            lane.execution, lane.expires, lane.expired = None, float("inf"), False
        seconds = time.monotonic() - started
        if late is None:
            self._typical += (seconds - self._typical) * _WEIGHT
        self._settle(row, options, outcome, seconds)

    def _options_of(self, row: Execution) -> Options:
        """Its own, and where they are silent the defaults of its client and queue; without any ``_DEFAULT`` itself."""
        defaults = self._defaults(row.client_id, row.partition)
        if row.options is None and not defaults:
            return _DEFAULT
        if row.plan == 0:  # a backfill is late by intent
            defaults = tuple(map(without_spans, defaults))
        return parse_options(row.options, *defaults)

    def _time_left(self, row: Execution, options: Options) -> tuple[float, Late | None]:
        """Seconds that an attempt may take now, and why it must not begin, if so."""
        age = self._clock.age(row.scheduled_for)
        timeout = options.timeout_seconds
        if options.deadline is not None:
            timeout = min(timeout, options.deadline - age)
        return timeout, lateness(options, row.attempt, age)

    def _cancelled(self, lane: Lane) -> Outcome:
        """What a cancellation meant: this row's deadline, that of the row before come too late, or the handler's."""
        if lane.task is None or not lane.task.cancelling():
            return Failed(error="the handler cancelled itself", retryable=True)
        lane.task.uncancel()
        if lane.expired:
            return Failed(error=f"no answer within {round(lane.expires - lane.started, 3):g} s", retryable=True)
        return Released()

    def _set_alarm(self) -> None:
        if self._held and self._alarm:
            moment = self._clock.monotonic(self._held[0][0])
            self._alarm.set(max(moment, self._rang_at + _APART))

    def _fire(self) -> None:
        self._rang_at = time.monotonic()
        now = self._clock.now()
        while self._held and self._held[0][0] <= now:
            row = heapq.heappop(self._held)[2]
            self._far.discard(row.id)
            self._ready.append(row)
        self._wake_lane()
        self._set_alarm()

    async def _watch_lanes(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_EVERY)
            now = time.monotonic()
            occupied = 0.0
            for lane in self._lanes:
                if lane.execution is None:
                    continue
                occupied += now - lane.started
                if lane.expires < now and lane.task and not lane.expired:
                    lane.expired = True
                    lane.task.cancel()
            self._typical = max(self._typical, occupied / self.concurrency)
            self._hand_back_excess()

    def _hand_back_excess(self) -> None:
        """When attempts have become slow, what was claimed for quick ones would wait here: others may have it."""
        excess = len(self._ready) - self.capacity
        for _ in range(excess):
            self._settle(self._ready.pop(), _DEFAULT, Released(), 0.0)
