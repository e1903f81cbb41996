"""Gathers outcomes and settles them in batches, each in one round trip and one commit.

Outcomes are kept until the database has committed them. If the connection breaks, the same outcomes are sent again on a
new connection. Sending is idempotent: an outcome counts only under its row's token, so it has no effect the second
time.

If a row of a batch is locked, or the database refuses it, the other rows are settled without it (``batch_sending``).
Locked rows are kept apart and retried several times a second. While there are any, each batch first checks which of its
rows are locked, so that it does not wait for locks.

The gathering window adapts to the load. An idle worker settles at once. A busy worker settles when a batch is full or
the longest window has passed.
"""

import asyncio
import time
from typing import LiteralString, assert_never

from pgsched.domain.attempt_outcome import (
    AlreadySettled,
    Deferred,
    Failed,
    Late,
    Outcome,
    Postponed,
    Released,
    Succeeded,
    Undeliverable,
    json_text,
    kept_error,
    longest_deferred,
)
from pgsched.domain.capability import WORKER
from pgsched.domain.duration import MICROSECOND
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.observer import AttemptsEnded, BatchSettled
from pgsched.service import DutyCycle, Service, Signal
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.culprits import is_a_brief_lock, is_a_lock, is_of_a_row
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live.executions import Times
from pgsched.telemetry import Events
from pgsched.worker.circuit_breakers import Circuits
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.settle.batch import Batch
from pgsched.worker.settle.batch_sending import LockAvoidingSettle, SettleReport, Turn, let_turns, settle
from pgsched.worker.settle.minute_counts import MEASURED, MEASURED_IN_A_BATCH, Measured, Weighing, ended_in

SETTLING_PATIENCE: LiteralString = "50ms"
"""How long a batch waits for a locked row before the batch is settled without that row."""
_LONGEST_WINDOW = 0.05
_SHORTEST_WINDOW = 0.001
_SHORT = 0.01
"""Successes in a batch whose attempts were shorter than this share the times of one of them."""
_AGAIN, _AGAIN_ONE_IN = 0.1, 5
_WARY = 1.0
_MOST_KEYS = 64  # maximum number of keyed rows in a batch, because claims wait while each key's next row gets its turn


class Settler(Service):
    """Takes outcomes from the dispatcher. The database decides and records what becomes of each row.

    Signals, with what they carry: ``expected``, the partition and instant of a row that will fire again; ``held``, the
    gate at which a row waits for another worker; ``failed``, a row and its failed attempt; ``counted``, the outcomes of
    a batch. ``ended``, sent when rows have ended, carries nothing.
    """

    name = "settler"

    def __init__(
        self,
        link: Link,
        clock: DatabaseClock,
        events: Events,
        clients: KnownSettings,
        circuits: Circuits,
        in_hand: InHand,
        definitions: Definitions,
        *,
        batch: int,
    ) -> None:
        super().__init__(events, link)
        self._link, self._clock, self._clients = link, clock, clients
        self._circuits, self._in_hand, self._batch = circuits, in_hand, batch
        self._definitions = definitions
        self.expected: Signal[[int, int]] = Signal()
        self.held: Signal[[str]] = Signal()
        self.ended: Signal[[]] = Signal()
        self.failed: Signal[[ClaimedExecution, Failed]] = Signal()
        self.counted: Signal[[AttemptsEnded]] = Signal()
        for observer in events.observers:
            self.counted.connect(observer.ended)
        self._gathering = Batch()
        self._sending: Batch | None = None
        self._locked = Batch()
        self._turns: set[Turn] = set()
        self._again, self._wary_until = DutyCycle(_AGAIN_ONE_IN, every=_AGAIN), float("-inf")
        self._since = 0.0
        self._window = _SHORTEST_WINDOW
        self._weighing = Weighing(clock, in_hand.claimed_at)
        self._measured: list[Measured] = []
        self._sent_measured: list[Measured] = []
        self._measured_one_in, self._mark = 1, 0
        self.settled_count = 0

    def add(self, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        """Takes a row's outcome, or refuses it if the row is no longer in hand under its token."""
        if not self._in_hand.has(row):
            self.events.emit("lease.refused", count=1)
            return
        batch = self._gathering
        if not batch.count:
            self._since = time.monotonic()
            self.wake()
        self._put(batch, row, options, outcome, seconds)
        if batch.count >= self._mark:
            self._pass_mark(batch.count, row, outcome, seconds)

    def _pass_mark(self, count: int, row: ClaimedExecution, outcome: Outcome, seconds: float) -> None:
        """Measures the attempt, and wakes the service if the batch is full. Attempts between marks are not measured. If
        a batch grows much larger than the previous one, drops every other measured attempt."""
        if type(outcome) in MEASURED:
            self._measured.append(Measured(row, seconds, time.monotonic()))
            if len(self._measured) > 2 * MEASURED_IN_A_BATCH:
                del self._measured[1::2]
                self._measured_one_in *= 2
        if count == self._batch:
            self.wake()
        following = count + self._measured_one_in
        self._mark = self._batch if count < self._batch < following else following

    def _put(self, batch: Batch, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        if type(outcome) is Failed or self._circuits.is_watching:
            self._circuits.note(row, outcome)
            if type(outcome) is Failed:
                self.failed(row, outcome)
        if type(outcome) is Succeeded and options.on_success is None and not self._counts(row):
            keeps = self._clients.keeps_success(row.client_id)
            if outcome.result is None:
                if not keeps:
                    batch.discard(row)
                elif seconds < _SHORT:
                    batch.succeed(row, outcome.status_code)
                    if seconds > batch.short.seconds:
                        batch.short = self._times(seconds)
                else:
                    batch.succeed_with(row, outcome.status_code, None, self._times(seconds))
                return
            if keeps and (result := json_text(outcome.result)) is not None:
                batch.succeed_with(row, outcome.status_code, result, self._times(seconds))
                return
        self._gather(batch, row, options, outcome, seconds)

    def _times(self, seconds: float) -> Times:
        """Returns the times of an attempt that has just ended."""
        return Times(self._clock.now() - int(seconds * 1e6), seconds)

    def _counts(self, row: ClaimedExecution) -> bool:
        return row.job_id is not None and self._definitions.counts_failures(row.job_id)

    def _gather(self, batch: Batch, row: ClaimedExecution, options: Options, outcome: Outcome, seconds: float) -> None:
        """Adds an outcome other than a plain success to the batch."""
        counts = self._counts(row)
        match outcome:
            case Succeeded(result=result, status_code=code):
                times = self._times(seconds)
                batch.finish(row, "succeeded", times, counts=counts, status_code=code, result=json_text(result))
            case Failed(error=error, status_code=code, retryable=retryable, retry_after=after, traceback=traceback):
                wait = None if after is None else after.total_seconds()
                told = {"status_code": code, "reason": kept_error(error), "retryable": retryable, "wait": wait}
                told["traceback"] = traceback
                batch.finish(row, "failed", self._times(seconds), counts=counts, **told)
            case Postponed(after=after, reason=reason):
                told = {"reason": kept_error(reason), "wait": after.total_seconds()}
                batch.finish(row, "postponed", self._times(seconds), counts=counts, **told)
            case Late():
                batch.finish(row, "late", None, counts=counts)
            case Deferred():
                batch.defer(row, longest_deferred(options, self._clock.age(row.start)))
            case Released(after=after, reason=reason) if after:
                batch.postpone(row, after, reason)
                self.expected(row.partition, self._clock.now() + after // MICROSECOND)
            case Released(by_drain=by_drain, ended=ended):
                batch.release(row, by_drain=by_drain, ended=ended)
            case Undeliverable(capability=capability):
                batch.hold(row, WORKER + capability)
                self.held(WORKER + capability)
            case AlreadySettled():
                self._in_hand.leave([row.id], [row.token])
                self.counted(self._weighing.attempt_alone(row, seconds))
                self.ended()
            case _:
                assert_never(outcome)

    async def turn(self) -> float:
        again = await self._try_again() if self._sending is None else 0.0
        if self._sending is None:
            if not self._gathering.count:
                return again
            pause = self._since + self._window - time.monotonic()
            if pause > 0 and self._gathering.count < self._batch and not self.stopping:
                return min(pause, again)
            await self._send(self._take_gathered())
        else:
            await self._send(self._sending)
        return 0.0

    async def flush(self) -> None:
        """Settles all outcomes, at the end of a drain. Raises any error of the database."""
        while self._sending is not None or self._gathering.count:
            await self._send(self._sending or self._take_gathered())
        while self._locked.count or self._turns:  # noqa: ASYNC110  the database has no event for this, at shutdown
            await asyncio.sleep(await self._try_again())

    async def close(self) -> None:
        await self._link.drop()

    def _take_gathered(self) -> Batch:
        batch, self._gathering = self._gathering.in_two(_MOST_KEYS)
        self._sending = batch
        self._sent_measured, self._measured = self._sent_measured + self._measured, []
        self._measured_one_in, self._mark = max(batch.count // MEASURED_IN_A_BATCH, 1), 0
        return batch

    async def _send(self, batch: Batch) -> None:
        connection, started = await self._link.get(), time.monotonic()
        settled = await self._settle_all(connection, batch) if started >= self._wary_until else None
        if settled is None:
            settled = await LockAvoidingSettle(connection, batch).settle()
            self._keep_apart(settled)
            self._locked.add(batch.only(settled.locked))
            batch = batch.only({id for id, _ in batch.rows()} - settled.locked)
        self._sending = None
        self._note(batch, settled, started)
        full = batch.count >= self._batch
        self._window = min(_LONGEST_WINDOW, self._window * 2) if batch.count > 8 and not full else _SHORTEST_WINDOW

    async def _settle_all(self, connection: Connection, batch: Batch) -> SettleReport | None:
        """Settles a batch as a whole. Returns None if a row in the batch makes that impossible."""
        for _ in range(2):
            try:
                return await settle(connection, batch)
            except Exception as error:
                if not is_of_a_row(error):
                    raise
                if is_a_lock(error):
                    self._wary_until = time.monotonic() + _WARY
                if not is_a_brief_lock(error):
                    break
        return None

    def _keep_apart(self, settled: SettleReport) -> None:
        """Keeps locked rows and undecided ordering keys for a retry."""
        self._turns |= settled.turns
        if settled.locked or settled.turns:
            self._wary_until = time.monotonic() + _WARY
            self._again.postpone(_AGAIN)
            self._in_hand.keep_unrecorded(settled.locked)
        for parked in settled.parked:
            self.events.emit("execution.parked", execution=parked.id.hex(), how=parked.how, reason=parked.reason)

    async def _try_again(self) -> float:
        """If a retry is due, retries locked rows. Returns the seconds until the next retry."""
        if not self._locked.count and not self._turns:
            return 60.0
        if not self._again.is_due and not self.stopping:
            return self._again.pause
        async with self._again.work_on(self._link) as connection:
            batch, started = self._locked, time.monotonic()
            settled = await LockAvoidingSettle(connection, batch).settle()
            settled.fires += await let_turns(connection, self._turns)
            self._keep_apart(settled)
            self._locked = batch.only(settled.locked)
            self._note(batch.only({id for id, _ in batch.rows()} - settled.locked), settled, started)
        return self._again.pause if self._locked.count or self._turns else 60.0

    def _note(self, batch: Batch, settled: SettleReport, started: float) -> None:
        """Removes the rows of a settled batch from the rows in hand, and notifies listeners."""
        self.settled_count += settled.count
        for observer in self.events.observers if batch.count else ():
            seconds = time.monotonic() - started
            observer.settled(
                BatchSettled(
                    rows=settled.count, outcomes=settled.outcomes, statements=settled.statements, seconds=seconds
                )
            )
        refused = batch.count - settled.count - len(settled.parked)
        if refused > 0:
            self.events.emit("lease.refused", count=refused)
        if clients := {which: self._in_hand.leave(some.ids, some.tokens) for which, some in ended_in(batch)}:
            measured, self._sent_measured = self._sent_measured, []
            self.counted(self._weighing.attempts_of(clients, measured))
        for partition, instant in [*batch.returning.items(), *settled.fires]:
            self.expected(partition, instant)
        self.ended()
