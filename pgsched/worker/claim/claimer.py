"""Decides when to claim, from which partitions, and how much.

A claim looks a moment ahead, so that a row is in memory before its instant and starts on time. After a claim, a look
finds out when the next row is due, and notifications announce rows that are added later. So an idle worker sleeps until
the next row is due, a notification arrives, or the poll interval ends. At the end of the interval, a look reads all
partitions. Even if every notification is lost, rows start late by at most this interval.

A turn divides the room among the streams (``client_streams``): first the streams of single clients, then the stream of
all other clients. After a full batch there may be more rows, so the next turn follows at once and continues where the
batch ended.

A worker claims from its own partitions, and helps with another worker's partition if rows there are overdue. While it
polls (``polling_instead_of_notifications``), it claims from all partitions every few milliseconds.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

from pgsched.store.core.wire import FAR_OFF, LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, Next, RowFilter, next_due
from pgsched.worker.claim.client_streams import Stream, TurnBound, spread
from pgsched.worker.claim.earliest_due import LATE, LOOK_AGAIN, SMALLEST_SHARE, EarliestDue
from pgsched.worker.claim.fairness import Fairness
from pgsched.worker.claim.polling_instead_of_notifications import LOOK_EVERY, Polling
from pgsched.worker.claim.row_filters import RowFilters
from pgsched.worker.claim.sweeper import Sweeper
from pgsched.worker.claiming_connection import Claiming, ClaimingConnection
from pgsched.worker.gates.admission import Admission
from pgsched.worker.run.dispatcher import Dispatcher

_LITTLE_ROOM, _NOT_YET = 0.005, 0.02
_QUICK = 0.01  # seconds within which the index is read from its left edge if there are no dead entries


class Claimer(Claiming):
    """Claims rows, and keeps the dispatcher supplied with them."""

    name = "claimer"

    def __init__(
        self,
        leases: ClaimingConnection,
        dispatcher: Dispatcher,
        *,
        batch: int,
        poll: timedelta,
        admission: Admission,
        fairness: Fairness,
        sweeper: Sweeper,
        earliest_due: EarliestDue,
        selection: RowFilters,
    ) -> None:
        super().__init__(leases)
        self._dispatcher, self._batch, self._poll = dispatcher, batch, poll.total_seconds()
        self._ahead = timedelta(microseconds=earliest_due.ahead)
        self._admission, self._fairness, self._are_several = admission, fairness, fairness.known.are_several
        self._sweeper, self._selection, self._earliest_due = sweeper, selection, earliest_due
        self._polling, self._everybody = Polling(), Stream(divide=fairness.rooms)
        self._claimed_at = float("-inf")
        self._owed_behind = 0.0
        self._bound, self._claimed = TurnBound(), 0
        self._are_left = True  # whether the last claim left due rows; true before the first claim

    def expect(self, partition: int, instant: int) -> bool:
        """Records the instant of a waiting row. Returns False if the partition is not open to this worker."""
        if partition not in self._assignment.open:
            return False
        self._earliest_due.hear(partition, instant)
        self.wake()
        return True

    def poll(self) -> None:
        """Starts polling at the next turn, because there are too many notifications."""
        self._polling.is_called_for = True

    def look(self) -> None:
        """Discards what is known about the partitions, and looks at them now."""
        self._earliest_due.forget()
        self.wake()

    def reopen(self) -> None:
        """Adapts to a change of the open partitions."""
        self._earliest_due.keep(self._assignment.open)
        self.look()

    async def turn(self) -> float:
        if not self._assignment.number or not self._selection.is_ready:
            return _NOT_YET
        await self.leases.give_back()
        self._earliest_due.pass_over(self._selection.passed_over)
        if time.monotonic() - self._earliest_due.looked_at >= self._look_interval:
            await self._look()
        free, partitions = self._dispatcher.free, self._assignment.open
        if self._polling.is_called_for and not self._polling.on and free and partitions:
            await self._polling.start(await self._link.get(), self._assignment.number, self._assignment.partitions)
        if self._polling.on and not (free and partitions):
            await self.stop_polling()
            await self._look()
        wanted = partitions if self._polling.on else self._earliest_due.wanted()
        if not (wanted or self._sweeper.found or (self._fairness.apart and partitions)):
            return await self._until_next()
        if (pause := self._pause(wanted, free)) > 0:
            return pause
        if others_wait := self._are_several() or self._admission.admits_most:
            free = min(free, self._bound.most)
        started, self._claimed, room = time.monotonic(), 0, free
        free = max(free - await self._claim_behind(free), 0)
        free -= await self._claim_apart(free)
        if wanted:
            await self._claim_for_everybody(wanted, free)
        if others_wait:
            self._bound.took(time.monotonic() - started, self._claimed, of=room)
        return 0.0

    def _pause(self, wanted: Sequence[int], free: int) -> float:
        """Seconds to wait before the next claim. The worker pauses between polls, while there is little room, and, so
        that rows gather, while no row is due soon. The dispatcher wakes the service when half of the room is free."""
        since = time.monotonic() - self._claimed_at
        if self._polling.on:
            return self._polling.interval - since
        if free == 0:
            return _LITTLE_ROOM
        if free < self._dispatcher.capacity // 2 and since < _LITTLE_ROOM:
            return _LITTLE_ROOM - since
        return (
            self._earliest_due.gathering_pause(wanted[0], self._claimed_at)
            if wanted and not self._sweeper.found
            else 0.0
        )

    async def recover(self, error: Exception) -> None:
        await super().recover(error)
        self._polling.lose()
        self._earliest_due.look_again()

    # The streams.

    async def _claim_behind(self, free: int) -> int:
        """Claims rows that the sweeper found, using up to half of the room. Returns the number of claimed rows."""
        if not self._sweeper.found:
            return 0
        self._owed_behind = min(self._owed_behind + free / 2, free)
        if not (room := int(self._owed_behind)):
            return 0
        shares, until = self._sweeper.shares(room, batch=self._batch)
        if not shares:
            return 0
        ahead = timedelta(microseconds=until - self._clock.now())
        answer = await self._take(shares, self._selection.row_filter, ahead=ahead)
        self._sweeper.claimed(shares, answer)
        self._owed_behind -= len(answer.taken)
        return len(answer.taken)

    async def _claim_apart(self, free: int) -> int:
        """Claims from the streams of single clients. Returns the number of claimed rows."""
        if not self._fairness.apart:
            return 0
        self._fairness.leave(self._selection.held)
        partitions, count = self._assignment.own or self._assignment.open, 0
        budgets = self._fairness.budgets(free, capacity=self._dispatcher.capacity, taken=self._dispatcher.taken)
        for stream, budget in budgets:
            if stream.client in self._selection.crowded:
                continue
            rows = self._selection.only(stream.client)
            asked, taken = await stream.claim(self._take, partitions, budget, rows, batch=self._batch)
            self._fairness.served(stream, asked, taken)
            count += taken
        return count

    async def _claim_for_everybody(self, wanted: Sequence[int], free: int) -> None:
        """Claims for all clients that have no stream of their own."""
        free -= await self._claim_first(wanted, free)
        if self._polling.on:
            await self._claim_evenly(wanted, max(free, 0))
            return
        if self._fairness.is_behind and self._are_several() and free > 1:
            free -= await self._claim_latest(free // 2)
        least = 0 if self._are_left and self._everybody.has_priorities else SMALLEST_SHARE
        if (room := max(free, least)) > 0:
            shares = self._earliest_due.shares(wanted, room, batch=self._batch, divide=self._fairness.rooms)
            await self._claim(shares)
            self._are_left = self._earliest_due.is_due(wanted)

    async def _claim_first(self, partitions: Sequence[int], free: int) -> int:
        """If claims are late, claims rows by priority. Returns the number of claimed rows."""
        if not self._are_left or not self._earliest_due.is_due(partitions, late=LATE):
            return 0
        rows = self._selection.row_filter
        return await self._everybody.claim_by_priority(self._take, partitions, free, rows)

    async def _claim_latest(self, room: int) -> int:
        """Claims the rows that became due most recently, in addition to those that have waited longest."""
        moment_back, partitions = self._earliest_due.front.moment_back, self._assignment.own or self._assignment.open
        shares = spread(partitions, room, batch=self._batch, low=lambda _: moment_back)
        return len((await self._take(shares, self._selection.latest)).taken)

    async def _claim_evenly(self, partitions: Sequence[int], free: int) -> None:
        """Claims from all partitions equally. Stops polling if polling finds too few rows."""
        started, low = time.monotonic(), self._earliest_due.front.begin
        await self._polling.keep(await self._link.get())
        shares = spread(partitions, free, batch=self._batch, low=low)
        found = await self._claim(shares, look=False) if shares else 0
        self._are_left = self._earliest_due.is_due(partitions)
        if not self._polling.found(found, time.monotonic() - started):
            await self.stop_polling()
            await self._look()

    async def stop_polling(self) -> None:
        """Stops polling if it is on, and makes writers notify again."""
        if self._polling.on:
            await self._polling.stop(await self._link.get())

    # Claims.

    async def _claim(self, shares: list[PartitionShare], *, look: bool = True) -> int:
        """Claims by instant, and looks on in the emptied partitions. Returns the number of claimed rows."""
        rows, asked = self._selection.row_filter, sum(share.batch for share in shares)
        plain = (rows is ALL_ROWS or rows.is_by_target) and not self._admission.known_gates.names
        at_once = plain and len(shares) == 1 and self._earliest_due.is_heard(shares[0].partition)
        self._earliest_due.asking()
        now = self._clock.now()
        answer = await self._ask(shares, rows, at_once=at_once)
        if self._are_several() or self._fairness.apart:
            self._fairness.observe(answer.taken, asked, now)
        emptied = self._earliest_due.claimed(shares, answer, all_kinds=not at_once)
        if self._are_left:
            self._everybody.went_by_instant(answer.taken, asked=asked)
        if look and emptied:
            await asyncio.sleep(0)  # claimed rows start first
            await self._look_on(emptied, shares[0].low if at_once else now + self._earliest_due.ahead)
        return len(answer.taken)

    async def _take(
        self, shares: Sequence[PartitionShare], rows: RowFilter, *, ahead: timedelta | None = None
    ) -> Claimed:
        """Claims rows without moving the marks from which claims by instant read."""
        answer = await self._ask(shares, rows, ahead=ahead)
        room = shares[0].batch if rows.is_by_priority else sum(share.batch for share in shares)
        if rows.only is None and not rows.latest_first and len(answer.taken) >= room:
            self._fairness.observe(answer.taken, room, self._clock.now())
        for partition, instant in answer.planned.items():
            self._earliest_due.hear(partition, instant)
        return answer

    async def _ask(
        self,
        shares: Sequence[PartitionShare],
        rows: RowFilter,
        *,
        at_once: bool = False,
        ahead: timedelta | None = None,
    ) -> Claimed:
        """Claims rows and hands them to the dispatcher."""
        ahead = self._ahead if ahead is None else ahead
        answer = await self.leases.claim(shares, ahead, row_filter=rows, admit=self._admission.admit, at_once=at_once)
        self._claimed_at = time.monotonic()
        self._claimed += len(answer.taken)
        self._dispatcher.submit(answer.rows, answer.sure_until)
        return answer

    # Looking for the next due rows.

    @property
    def _look_interval(self) -> float:
        return self._poll if time.monotonic() >= self._polling.looks_until else min(self._poll, LOOK_EVERY)

    async def _look_on(self, partitions: list[int], beyond: int) -> None:
        """Looks for the next row of each partition that a claim has emptied up to its look-ahead."""
        self._earliest_due.asking()
        found = await self._next_due(dict.fromkeys(partitions, beyond))
        self._earliest_due.seen_beyond(partitions, found.due, found.now)

    async def _look(self) -> None:
        """Looks for the next row of every open partition."""
        partitions = self._assignment.open
        await self._link.get()  # connects first, so that this does not count as part of the round trip
        self._earliest_due.asking()
        if not partitions:
            self._earliest_due.seen([], {}, 0)
            return
        sent, sweeps = time.monotonic(), self._can_sweep
        lows = {
            partition: LONG_AGO if sweeps else self._earliest_due.front.look_from(partition) for partition in partitions
        }
        found = await self._next_due(lows)
        received = time.monotonic()
        self._clock.observe(found.now, sent, received)
        if sweeps:
            self._sweeper.sweeps.swept(received - sent)
        self._earliest_due.seen(partitions, found.due, found.now)

    @property
    def _can_sweep(self) -> bool:
        """Whether a look can do the sweeper's work, because the worker is idle and reading is quick."""
        is_idle = time.monotonic() - self._claimed_at > self._poll
        return is_idle and self._sweeper.sweeps.took < _QUICK and not self._selection.is_partial

    async def _next_due(self, lows: dict[int, int]) -> Next:
        """Reads the next row of each partition. If claims skip rows, reads only as far as the next look requires."""
        rows = self._selection.row_filter
        until = FAR_OFF if rows is ALL_ROWS else self._clock.now() + int(2e6 * self._poll)
        found = await next_due(await self._link.get(), lows, until=until, row_filter=rows)
        if found.is_silent:
            self._polling.look_often()
        return found

    async def _until_next(self) -> float:
        """Seconds until the next poll, or until a row can be claimed: a known row in the worker's own partitions, or an
        overdue row in another worker's partition."""
        until_poll = self._earliest_due.looked_at + self._look_interval - time.monotonic()
        until_help = self._earliest_due.until_help()
        if until_help is not None and until_help <= 0:
            await self._look()
            return 0.0 if self._earliest_due.wanted() else LOOK_AGAIN
        known = (until_poll, self._earliest_due.until_own(), until_help)
        return max(min(seconds for seconds in known if seconds is not None), 0.0)
