"""Gathers outcomes and settles them by the batch, each batch in one round trip and one commit.

What has been decided is kept until the database has taken it: when the connection breaks in the middle, the same
outcomes are sent again over the next one. That is harmless, for each counts only under its row's token; those that
had arrived the first time find nothing to do.

The window in which outcomes gather grows with what comes: an idle worker settles at once, a busy one waits until a
batch is full, and never longer than the longest window.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, assert_never

import psycopg
from psycopg import AsyncCursor

from pgsched.domain.execution import Execution
from pgsched.domain.outcome import Failed, Finish, HandBack, Leave, Outcome, Park, Postpone, Retry, Succeeded, decide
from pgsched.domain.policy import Options
from pgsched.events import Events
from pgsched.service import Service
from pgsched.store import deferred, executions
from pgsched.store.connect import Connection, Link
from pgsched.store.definitions import counts_failures
from pgsched.store.ordering import let_next
from pgsched.worker.batch import Batch
from pgsched.worker.circuits import Circuits
from pgsched.worker.clock import DatabaseClock

_LONGEST_WINDOW = 0.05
_SHORTEST_WINDOW = 0.001


class Settler(Service):
    """Takes outcomes from the dispatcher, decides what becomes of each row, and makes it so."""

    name = "settler"

    def __init__(
        self,
        link: Link,
        clock: DatabaseClock,
        events: Events,
        *,
        owner: Callable[[], int],
        keeps_success: Callable[[str], bool],
        circuits: Circuits,
        settled: Callable[[bytes, int], None],
        left: Callable[[Sequence[tuple[bytes, int]]], None],
        in_hand: Callable[[bytes], Execution | None],
        retrying: Callable[[int, float], object],
        returned: Callable[[int, int], object],
        ended: Callable[[], object],
        batch: int,
        rng: random.Random,
    ) -> None:
        super().__init__(events)
        self._link, self._clock, self._owner, self._keeps_success = link, clock, owner, keeps_success
        self._settled, self._in_hand, self._retrying, self._returned = settled, in_hand, retrying, returned
        self._ended, self._circuits, self._left = ended, circuits, left
        self._batch, self._rng = batch, rng
        self._gathering = Batch()
        self._sending: Batch | None = None
        self._since = 0.0
        self._window = _SHORTEST_WINDOW
        self.settled_count = 0

    def add(self, row: Execution, options: Options, outcome: Outcome, seconds: float) -> None:
        """Takes the outcome of a row. One of a lease that this process has itself replaced does not count."""
        held = self._in_hand(row.id)
        if held is None or held.token != row.token:
            self.events.emit("lease.refused", count=1)
            return
        batch = self._gathering
        if not batch.count:
            self._since = time.monotonic()
            self.wake()
        self._put(batch, row, options, outcome, seconds)
        if batch.count == self._batch:
            self.wake()

    def _put(self, batch: Batch, row: Execution, options: Options, outcome: Outcome, seconds: float) -> None:
        if type(outcome) is Failed or self._circuits.is_watching:
            self._circuits.note(row, outcome)
        plain = type(outcome) is Succeeded and outcome.result is None and options.on_success is None
        if plain and not (row.job_id is not None and counts_failures(row.job_id)):
            assert isinstance(outcome, Succeeded)
            if self._keeps_success(row.client_id):
                batch.succeed(row, outcome.status_code)
            else:
                batch.discard(row)
            return
        age = self._clock.age(row.scheduled_for)
        decision = decide(outcome, row.attempt, options, age=age, rng=self._rng)
        match decision:
            case Finish():
                batch.finish(row, decision, seconds)
            case Retry():
                batch.retry(row, decision, seconds)
                self._retrying(row.partition, decision.after.total_seconds())
            case Postpone(after=after):
                batch.postpone(row, decision)
                self._retrying(row.partition, after.total_seconds())
            case Park(seconds=seconds):
                batch.park(row, seconds)
            case HandBack():
                batch.release(row)
            case Leave():
                self._settled(row.id, row.token)
                self._left([(row.id, row.token)])
                self._ended()
            case _:
                assert_never(decision)

    async def turn(self) -> float:
        if self._sending is None:
            if not self._gathering.count:
                return 60.0
            pause = self._since + self._window - time.monotonic()
            if pause > 0 and self._gathering.count < self._batch and not self.stopping:
                return pause
            self._sending, self._gathering = self._gathering, Batch()
        await self._send(self._sending)
        return 0.0

    async def recover(self, error: Exception) -> None:
        self.events.emit("database.lost", role=self.name, error=str(error)[:200])
        await self._link.drop(error)

    async def flush(self) -> None:
        """Settles all that has been decided; for the end of a drain. Raises what the database raises."""
        while self._sending is not None or self._gathering.count:
            if self._sending is None:
                self._sending, self._gathering = self._gathering, Batch()
            await self._send(self._sending)

    async def close(self) -> None:
        await self._link.drop()

    async def _send(self, batch: Batch) -> None:
        connection = await self._link.get()
        try:
            count = await self._settle(connection, batch)
        except psycopg.Error as error:
            if not _is_refusal(error):
                raise
            count = await self._settle_apart(connection, batch, error)
        self._sending = None
        self.settled_count += count
        if count < batch.count:
            self.events.emit("lease.refused", count=batch.count - count)
        settled = batch.rows()
        for id, token in settled:
            self._settled(id, token)
        self._left(settled)
        for partition, instant in batch.returning.items():
            self._returned(partition, instant)
        self._ended()
        full = batch.count >= self._batch
        self._window = min(_LONGEST_WINDOW, self._window * 2) if batch.count > 8 and not full else _SHORTEST_WINDOW

    async def _settle_apart(self, connection: Connection, batch: Batch, error: Exception) -> int:
        """After the database refused a value: row by row, so that only the one with that value is left unsettled.

        Its lease runs out, and the attempt counts as lost.
        """
        count = 0
        for single in batch.apart():
            try:
                count += await self._settle(connection, single)
            except psycopg.Error as refusal:
                if not _is_refusal(refusal):
                    raise
                self.events.emit("settle.refused", error=str(refusal)[:200], first=str(error)[:200])
        return count

    async def _settle(self, connection: Connection, batch: Batch) -> int:
        """Sends the statements of a batch together; they are committed together."""
        cursors: list[AsyncCursor[tuple[Any, ...]]] = []
        counted: list[AsyncCursor[tuple[Any, ...]]] = []
        async with connection.pipeline():
            for code, groups in batch.succeeded.items():
                cursors += await executions.settle_succeeded(connection, code, groups)
            for partition, group in batch.released.items():
                cursors.append(await executions.release(connection, partition, group))
            for partition, put_off in batch.postponed.items():
                cursors.append(await executions.postpone(connection, partition, put_off))
            counted += await executions.settle_discarded(connection, batch.discarded)
            for partition, ends in batch.finished.items():
                counted.append(await executions.settle_finished(connection, partition, ends))
            for partition, tries in batch.retried.items():
                counted.append(await executions.settle_retried(connection, self._owner(), partition, tries))
            for partition, parked in batch.parked.items():
                await deferred.park(connection, partition, parked)
            nexts = {
                partition: await let_next(connection, partition, sorted(keys))
                for partition, keys in sorted(batch.ended_keys.items())
            }
        for partition, cursor in nexts.items():
            for (instant,) in await cursor.fetchall():
                if instant is not None:
                    self._returned(partition, instant)
        total = sum(cursor.rowcount for cursor in cursors) + sum(map(len, batch.parked.values()))
        for cursor in counted:
            row = await cursor.fetchone()
            total += row[0] if row else 0
        return total


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether a value is at fault, and not the database or the statement: it would be refused again."""
    ours = (error.sqlstate or "").startswith("PS")
    return ours or isinstance(error, psycopg.DataError | psycopg.IntegrityError)
