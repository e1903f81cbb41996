"""Makes attempts at rows. Each row that a lane takes is settled exactly once, is handed back, or waits for a slot.

An attempt does not begin, and is not counted, if the row's lease is in doubt, if there is no slot for the row, or if
its payload cannot be read.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from pgsched.batched_lookups import Batched
from pgsched.delivery.channel import Channel
from pgsched.delivery.exception_outcomes import describe
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.slots import NoFreeSlot
from pgsched.domain.attempt_outcome import LATE, Failed, Outcome, Released, Succeeded, is_late
from pgsched.domain.execution import KEPT_BACK, ClaimedExecution
from pgsched.domain.execution_options import DEFAULT_OPTIONS, Options
from pgsched.domain.target import Scheme
from pgsched.errors import InvalidInput
from pgsched.store.core.connect import Link
from pgsched.store.live import recorded_starts
from pgsched.telemetry import Events
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import WEIGHT, AttemptPace, InHand, LeaseValidity
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.run.client_shares import Shares
from pgsched.worker.run.lane_state import Lane
from pgsched.worker.run.payload_memory import Payloads
from pgsched.worker.run.unbegun_row_recall import UnbegunRows
from pgsched.worker.run.waiting_for_slot import Settle, WaitingForSlot

_PYTHON = f"{Scheme.PYTHON}:"
_COMMITTED_TOGETHER = f"{Scheme.SQL}:", f"{Scheme.NOTIFY}:"
_DATABASE_PAUSE = timedelta(seconds=1)
_ENDED = Released(ended=True)
_NOTED_AT_ONCE = 500
_Beginning = tuple[ClaimedExecution, bool]


def ended_by_drain(lane: Lane) -> Outcome:
    """Returns the outcome of an attempt that a drain ends. The row is released, unless it may have only one attempt."""
    if lane.only:
        return Failed(error="its worker was stopped during the only attempt", retryable=False)
    return Released(by_drain=True)


class RecordedStarts:
    """Records in the database that the only attempt of a row starts.

    The target of a row with ``max_attempts`` 1 is called at most once, even if the worker is lost. So the target is
    called only after the start is committed, and a row that is taken back later ends as failed. Simultaneous starts are
    written together, on a connection that is opened for the first start.
    """

    def __init__(self, link: Link) -> None:
        self._link, self._notes = link, Batched(self._note, most=_NOTED_AT_ONCE)

    async def note(self, row: ClaimedExecution, *, begun: bool = True) -> bool:
        """Records that this row has begun or, if ``begun`` is False, that it has not begun after all. Returns False if
        nothing was recorded, because another worker has the row or the row is locked. Raises any error of the
        database."""
        return bool(await self._notes.get((row, begun)))

    async def close(self) -> None:
        await self._link.drop()

    async def _note(self, asked: Collection[_Beginning]) -> dict[_Beginning, bool]:
        noted: dict[_Beginning, bool] = {}
        try:
            for begun in {begun for _, begun in asked}:
                rows = [row for row, has_begun in asked if has_begun is begun]
                ids = await recorded_starts.note(await self._link.get(), rows, begun=begun)
                noted.update(((row, begun), row.id in ids) for row in rows)
        except Exception as error:
            await self._link.drop(error)
            raise
        return noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What a worker's attempts need. ``settle`` takes each outcome. Without ``beginnings``, no starts are recorded.
    ``goes_on`` returns whether an execution's function still runs in its thread although the attempt is over."""

    channel: Channel
    settle: Settle
    in_hand: InHand
    known_settings: KnownSettings
    events: Events
    failures: FailureLog
    payloads: Payloads
    shares: Shares
    beginnings: RecordedStarts | None = None
    goes_on: Callable[[bytes], bool] = lambda _: False


class Attempts:
    """Makes attempts. ``unbegun`` takes rows that may not begin, ``waiting`` takes rows that found no slot, and
    ``doubt`` takes a row whose lease is in doubt."""

    def __init__(
        self,
        equipment: Equipment,
        *,
        clock: DatabaseClock,
        tenure: LeaseValidity,
        pace: AttemptPace,
        unbegun: UnbegunRows,
        waiting: WaitingForSlot,
        doubt: Callable[[ClaimedExecution], None],
    ) -> None:
        self._channel, self._settle, self._in_hand = equipment.channel, equipment.settle, equipment.in_hand
        self._known_settings, self._clock, self._tenure, self._pace = equipment.known_settings, clock, tenure, pace
        self._waiting, self._doubt, self._beginnings = waiting, doubt, equipment.beginnings
        self._events, self._failures = equipment.events, equipment.failures
        self._payloads, self._shares = equipment.payloads, equipment.shares
        self._goes_on, self._unbegun = equipment.goes_on, unbegun
        self.lingering: dict[bytes, ClaimedExecution] = {}
        """Rows that ended in the database while their functions still run in threads."""
        self.draining = False
        """Whether a cancellation also ends the lane."""

    async def plain(self, lane: Lane, row: ClaimedExecution) -> None:
        """Makes one attempt at a row whose payload is in memory."""
        started = lane.started = time.monotonic()
        if started > self._tenure.until:
            self._doubt(row)
            return
        lane.execution = row
        options, timeout, late = DEFAULT_OPTIONS, DEFAULT_OPTIONS.timeout_seconds, False
        try:
            if row.options is not None or self._known_settings.defaults(row.client_id, row.partition):
                options = self._known_settings.options_of(row)
                timeout, late = self._time_left(row, options)
            lane.expires = started + timeout
            if options.max_attempts == 1 and self._beginnings is not None and not late:
                outcome = await self._once(self._beginnings, lane, row, options, timeout)
            else:
                outcome = LATE if late else await self._channel.deliver(row, options, timeout)
            if outcome is None:
                return
        except NoFreeSlot as full:
            # If the payload was read only for this attempt, the row waits without it.
            self._waiting.add(full.slots, self._in_hand.rows.get(row.id, row), started)
            return
        except InvalidInput as error:
            outcome = Failed(error=str(error), retryable=False)
        except asyncio.CancelledError as error:
            if self.draining:
                self._settle(row, options, ended_by_drain(lane), time.monotonic() - started)
                raise
            outcome = self._cancelled(lane, row, error)
            if outcome == _ENDED and row.ordering_key is not None and self._goes_on(row.id):
                self._linger(row)
                return
        except BaseException as error:  # a lane survives whatever a handler raises
            outcome = Failed(error=describe(error), retryable=True)
        finally:
            lane.execution, lane.expires = None, float("inf")
            lane.expired = lane.stopped = lane.only = False
        seconds = time.monotonic() - lane.started
        if not late:
            pace = self._pace
            pace.typical += (seconds - pace.typical) * WEIGHT
        if type(outcome) is Succeeded and outcome.result is not None and row.id in self._in_hand.rows:
            self._payloads.keep(row.id, outcome.result)
            self._in_hand.announced.add(row.id)
        self._settle(row, options, outcome, seconds)

    def _time_left(self, row: ClaimedExecution, options: Options) -> tuple[float, bool]:
        """Returns the seconds that an attempt may take, and whether it is too late to begin."""
        age, timeout = self._clock.age(row.start), options.timeout_seconds
        if options.deadline is not None:
            timeout = min(timeout, options.deadline - age)
        return timeout, is_late(options, row.attempt, age)

    async def _once(
        self, noted: RecordedStarts, lane: Lane, row: ClaimedExecution, options: Options, seconds: float
    ) -> Outcome | None:
        """Makes the only attempt at a row. The start is committed before the target is called, unless the target's work
        is committed together with the row's end. If the start cannot be recorded, the attempt does not begin. Returns
        the attempt's outcome, or None if the row was changed in the meantime."""
        if row.target.startswith(_COMMITTED_TOGETHER):
            return await self._channel.deliver(row, options, seconds)
        lane.expires = float("inf")
        try:
            if not await noted.note(row):
                return Released(after=_DATABASE_PAUSE)
            if not self._unbegun.may_begin(self._in_hand.rows.get(row.id, row), lane.started):
                return None
            if time.monotonic() > self._tenure.until:  # other attempts may have kept the loop busy
                await noted.note(row, begun=False)
                return Released()
            lane.started = time.monotonic()
            lane.expires, lane.only = lane.started + seconds, True
            try:
                return await self._channel.deliver(row, options, seconds)
            except NoFreeSlot:
                lane.only = False
                await noted.note(row, begun=False)
                raise
        except psycopg.Error as error:
            self._events.emit("database.lost", role="beginnings", error=str(error)[:200])
            return Released(after=_DATABASE_PAUSE)

    async def shared(self, lane: Lane, row: ClaimedExecution) -> None:
        """Makes one attempt when several clients share the lanes."""
        try:
            self._shares.take(row.client_id)
        except NoFreeSlot as full:
            self._waiting.add(full.slots, row, time.monotonic())
            return
        try:
            if row.payload == KEPT_BACK:
                await self.large(lane, row)
            else:
                await self.plain(lane, row)
        finally:
            self._shares.give_back(row.client_id)

    async def large(self, lane: Lane, row: ClaimedExecution) -> None:
        """Makes one attempt at a row whose payload the claim kept back. The attempt's time begins after reading."""
        lane.execution, released, doubts = row, Released(), self._tenure.doubts
        since = time.monotonic()
        try:
            async with self._payloads.whole(row) as whole:
                if whole is not None and doubts == self._tenure.doubts:
                    lane.execution = None
                    if self._unbegun.may_begin(row, since):
                        await self.plain(lane, whole)
                    return
        except NoFreeSlot as full:
            self._waiting.add(full.slots, row, time.monotonic())
            return
        except asyncio.CancelledError:
            if self.draining or lane.execution is None or lane.task is None:
                if lane.execution is not None:
                    self._settle(row, DEFAULT_OPTIONS, released, 0.0)
                raise
            lane.forgive()  # the row was ended in the database
        except Exception as error:  # an error of the database: the row is postponed
            self._events.emit("database.lost", role="payloads", error=str(error)[:200])
            released = Released(after=_DATABASE_PAUSE)
        finally:
            lane.execution, lane.stopped = None, False
        self._settle(row, DEFAULT_OPTIONS, released, 0.0)

    def _linger(self, row: ClaimedExecution) -> None:
        """Keeps a row until its function has returned, because the next row with its ordering key must wait."""
        self.lingering[row.id] = row
        self._in_hand.keep_unrecorded([row.id])

    def settle_returned(self) -> None:
        """Settles the lingering rows whose functions have returned."""
        for row in [row for row in self.lingering.values() if not self._goes_on(row.id)]:
            del self.lingering[row.id]
            self._settle(row, DEFAULT_OPTIONS, _ENDED, 0.0)

    def _cancelled(self, lane: Lane, row: ClaimedExecution, error: BaseException) -> Outcome:
        """Returns the outcome of an attempt that was cancelled by its timeout, the row's end, or the handler."""
        if lane.expired or lane.stopped:
            lane.forgive()
        if lane.stopped and not lane.expired:
            return _ENDED
        within = round(lane.expires - lane.started, 3)
        reason = f"no answer within {within:g} s" if lane.expired else "the handler cancelled itself"
        if row.target.startswith(_PYTHON):
            self._failures.note(row, error, reason)
        return Failed(error=reason, retryable=True)
