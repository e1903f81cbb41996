"""Decides when to claim, from which partitions, and how much.

A claim looks a moment ahead, so a row is in memory before its instant comes and starts on time without polling. Once
the claimed rows are on their way, the worker looks for the next row beyond that moment; notifications name rows that
came in between. So a sleeping worker wakes for the earliest row it knows of, a notification, or the poll interval, at
which it looks at all partitions: whichever is first. Losing every notification costs no more than the poll interval.

A full batch means there is more: then the next claim follows at once and begins where the last one ended.

A worker claims from its own partitions, and helps with another's once something there is overdue. One on watch
(``watch``) claims from all of them every few milliseconds.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import FAR_OFF, LONG_AGO
from pgsched.store.live import looking
from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.row_filter import ALL_ROWS, RowFilter
from pgsched.worker.claim.apart import Apart
from pgsched.worker.claim.claiming import Claiming
from pgsched.worker.claim.fairness import FIRST, Fairness, Stride
from pgsched.worker.claim.leases import Leases
from pgsched.worker.claim.precedence import Precedence
from pgsched.worker.claim.rear import Rear
from pgsched.worker.claim.selection import SMALLEST_SHARE, Front, Selection
from pgsched.worker.claim.sight import LOOK_AGAIN, Sight, Wanted
from pgsched.worker.claim.watch import QueueWatch
from pgsched.worker.gates.admission import Admission
from pgsched.worker.run.dispatcher import Dispatcher

_LITTLE_ROOM, _NOT_YET = 0.005, 0.02
_QUICK = 0.01  # seconds within which the left edge is read where nothing dead stands there


class Claimer(Claiming):
    """Keeps the dispatcher supplied."""

    name = "claimer"

    def __init__(
        self,
        leases: Leases,
        dispatcher: Dispatcher,
        *,
        batch: int,
        ahead: timedelta,
        poll: timedelta,
        admission: Admission,
        fairness: Fairness,
        rear: Rear,
        sight: Sight,
        front: Front,
        selection: Selection,
    ) -> None:
        super().__init__(leases, dispatcher)
        self._batch, self._ahead = batch, ahead
        self._ahead_us = int(ahead.total_seconds() * 1e6)
        self._poll = poll.total_seconds()
        self._admission, self._fairness, self._are_several = admission, fairness, fairness.known.are_several
        self._rear, self._selection = rear, selection
        self._sight, self._front, self._watch, self._stride = sight, front, QueueWatch(), Stride()
        self._shared = Stride(most=FIRST)
        self._wanted = Wanted(self._sight, self._roster, self._clock, ahead=self._ahead_us)
        self._looked_at = self._claimed_at = float("-inf")
        self._are_left = True  # rows, by the last claim; nobody knows before the first one
        self._precedence = Precedence(fairness.rooms)
        self._apart = Apart(leases.roster, dispatcher, selection=selection, fairness=fairness, batch=batch)

    def expect(self, partition: int, instant: int) -> bool:
        """Notes that a row for this instant stands in this partition. False if this worker does not serve its queue, or
        the queue is paused."""
        if partition not in self._roster.open:
            return False
        self._sight.hear(partition, instant)
        self.wake()
        return True

    def ring(self) -> None:
        """Notes that a writer of rows notified the workers."""
        self._watch.ring()

    def look(self) -> None:
        """Forgets what is known of the partitions and looks at them now."""
        self._sight.forget()
        self._looked_at = float("-inf")
        self.wake()

    def reopen(self) -> None:
        """Takes note that other partitions than before may be claimed from."""
        self._sight.keep(self._roster.open)
        self.look()

    async def turn(self) -> float:
        if not self._roster.number or not self._selection.is_ready:
            return _NOT_YET
        await self.leases.give_back()
        if self._front.pass_over(self._selection.passed_over):
            self._looked_at = float("-inf")
        if time.monotonic() - self._looked_at >= min(self._poll, self._watch.look_interval):
            await self._look()
        if self._watch.called and self._dispatcher.free and self._roster.open:
            await self._watch.enter(await self._link.get(), self._roster.number, self._roster.partitions)
        if self._watch.on:
            return await self._keep_watch()
        wanted = self._wanted.now(self._looked_at)
        if not wanted and not (self._fairness.apart and self._roster.open):
            return await self._until_next()
        free = self._free
        pause = self._room_pause(free) or (self._wanted.gathering_pause(wanted[0], self._claimed_at) if wanted else 0.0)
        if pause > 0:
            return pause
        if self._fairness.apart:
            free -= await self._apart.claim(
                free, most=self._stride.most, ask=self._ask_aside, ask_first=self._ask_early
            )
        if self._are_left and wanted and self._wanted.is_late(wanted):
            free -= await self._claim_first(wanted, free)
        if wanted and self._fairness.is_behind and self._are_several() and free > 1:
            free -= await self._claim_latest(self._bound(free // 2))
        least = 0 if self._are_left and self._precedence.counts else SMALLEST_SHARE
        if wanted and (room := self._bound(max(free, least))) > 0:
            await self._claim(self._front.shares(wanted, room, batch=self._batch, divide=self._fairness.rooms))
            self._are_left = self._wanted.is_left(wanted)
        return 0.0

    @property
    def _free(self) -> int:
        """How many rows to claim. While the rear waits for room, each of the two has half; the single one goes to whom
        it did not go last."""
        free = self._dispatcher.free
        if not self._rear.is_waiting:
            return free
        return free - free // 2 if self._rear.went_last else free // 2

    async def _claim_first(self, partitions: Sequence[int], free: int) -> int:
        """Claims what goes before the rest by its priority. Returns how many rows."""
        row_filter = self._selection.row_filter
        return await self._precedence.claim(self._ask_first, partitions, self._bound(free), row_filter)

    def _bound(self, room: int) -> int:
        """How much of the room one claim may fill. Where several clients share it, none waits long for another's."""
        return int(min(room, self._stride.most, self._shared.most if self._are_several() else room))

    async def _claim_latest(self, budget: int) -> int:
        """Claims from all other clients the rows that became due last, beside those that have waited longest."""
        answer = await self._ask_aside(self._front.latest(budget, self._batch), self._selection.latest)
        return len(answer.taken)

    async def _keep_watch(self) -> float:
        """Claims from all partitions, every few milliseconds, as long as that is worth it and there is room."""
        free = self._free if self._roster.open else 0
        pause = self._claimed_at + self._watch.interval - time.monotonic()
        if free and pause > 0:
            return pause
        started = time.monotonic()
        await self._watch.keep(await self._link.get())
        if self._are_left and free and self._wanted.is_late(partitions := self._roster.open):
            free = max(free - await self._claim_first(partitions, free), 0)
        found = await self._claim(self._front.even(self._bound(free), self._batch), look=False) if free else 0
        self._are_left = self._wanted.is_left(self._roster.open)
        if self._watch.found(found, time.monotonic() - started) and free:
            return 0.0
        await self.leave_watch()
        await self._look()
        return 0.0

    async def leave_watch(self) -> None:
        """Makes writers notify again, if this worker was on watch."""
        if self._watch.on:
            await self._watch.leave(await self._link.get())

    async def recover(self, error: Exception) -> None:
        await super().recover(error)
        self._watch.lose()
        self._looked_at = float("-inf")

    def _room_pause(self, free: int) -> float:
        """Seconds by which claims are spaced out while there is little room; the dispatcher wakes the service once half
        is free."""
        if free == 0:
            return _LITTLE_ROOM
        spacing = self._claimed_at + _LITTLE_ROOM - time.monotonic()
        return spacing if free < self._dispatcher.capacity // 2 and spacing > 0 else 0.0

    async def _claim(self, shares: list[Share], *, look: bool = True) -> int:
        """Claims and submits. Returns how many rows."""
        now, row_filter = self._clock.now(), self._selection.row_filter
        plain = (row_filter is ALL_ROWS or row_filter.is_by_target) and not self._admission.book.names
        at_once = plain and len(shares) == 1 and self._sight.is_heard(shares[0].partition, now)
        self._sight.asking()
        answer = await self._ask(shares, row_filter, at_once=at_once)
        if self._are_several() or self._fairness.apart:
            self._fairness.observe(answer.taken, sum(share.batch for share in shares), now)
        emptied = self._sight.claimed(shares, answer, all_kinds=not at_once)
        if self._are_left:
            self._precedence.went_by_instant(answer.taken, asked=sum(share.batch for share in shares))
        if look and emptied:
            await asyncio.sleep(0)  # what was claimed starts first
            await self._look_on(emptied, shares[0].low if at_once else now + self._ahead_us)
        return len(answer.taken)

    async def _ask_first(self, shares: Sequence[Share], row_filter: RowFilter) -> Claimed:
        """Claims and submits what goes before the rest, of all clients that are not claimed from apart."""
        answer = await self._ask_early(shares, row_filter)
        if len(answer.taken) >= shares[0].batch:
            self._fairness.observe(answer.taken, shares[0].batch, self._clock.now())
        return answer

    async def _ask_early(self, shares: Sequence[Share], row_filter: RowFilter) -> Claimed:
        admit = self._admission.admit
        answer = await self.leases.claim_early(shares, self._ahead, admit=admit, row_filter=row_filter)
        self._dispatcher.submit(answer.rows, answer.sure_until)
        return self._note_planned(answer)

    async def _ask_aside(self, shares: Sequence[Share], row_filter: RowFilter) -> Claimed:
        """Claims and submits, and leaves aside how far claims have read."""
        return self._note_planned(await self._ask(shares, row_filter))

    def _note_planned(self, answer: Claimed) -> Claimed:
        for partition, instant in answer.planned.items():
            self._sight.hear(partition, instant)
        return answer

    async def _ask(self, shares: Sequence[Share], row_filter: RowFilter, *, at_once: bool = False) -> Claimed:
        """Claims and submits."""
        if at_once:
            answer = await self.leases.claim_at_once(shares[0], self._ahead, row_filter=row_filter)
        else:
            started = time.monotonic()
            answer = await self.leases.claim(shares, self._ahead, admit=self._admission.admit, row_filter=row_filter)
            seconds, count = time.monotonic() - started, len(answer.taken)
            self._stride.took(seconds, self._admission.admitted, of=count)
            if 2 * count >= min(self._shared.most, FIRST):  # what a smaller one took is not for its size
                self._shared.took(seconds, count, of=count)
        self._claimed_at, self._rear.went_last = time.monotonic(), False
        self._dispatcher.submit(answer.rows, answer.sure_until)
        return answer

    async def _look_on(self, partitions: list[int], beyond: int) -> None:
        """Looks for waiting rows in partitions that a claim has emptied up to its look-ahead."""
        connection = await self._link.get()
        self._sight.asking()
        lows = dict.fromkeys(partitions, beyond)
        due, now, _ = await self._next_due(connection, lows)
        self._sight.seen_beyond(partitions, due, now)

    async def _look(self) -> None:
        connection = await self._link.get()
        partitions = self._roster.open
        if not partitions:
            self._looked_at = time.monotonic()
            return
        self._sight.asking()
        sent, sweeps = time.monotonic(), self._can_sweep
        lows = {partition: LONG_AGO if sweeps else self._front.look_from(partition) for partition in partitions}
        due, now, _ = await self._next_due(connection, lows)
        received = time.monotonic()
        self._clock.observe(now, sent, received)
        if sweeps:
            self._rear.laps.swept(received - sent)
        if self._sight.seen(partitions, due, now):
            self._looked_at = received

    @property
    def _can_sweep(self) -> bool:
        """Whether a look may read from the left edge, as the rear does: nothing is claimed, and it is quick."""
        is_idle = time.monotonic() - self._claimed_at > self._poll
        return is_idle and self._rear.laps.took < _QUICK and not self._selection.is_partial

    async def _next_due(self, connection: Connection, lows: dict[int, int]) -> looking.Next:
        """The next rows. A worker that passes rows over looks no further than it needs until its next look."""
        row_filter = self._selection.row_filter
        until = FAR_OFF if row_filter is ALL_ROWS else self._clock.now() + int(2e6 * self._poll)
        found = await looking.next_due(connection, lows, until=until, row_filter=row_filter)
        self._watch.hears(not found.is_silent)
        return found

    async def _until_next(self) -> float:
        """Seconds until the earliest of its own rows in sight, the next look at others' partitions, or the poll."""
        until_poll = self._looked_at + min(self._poll, self._watch.look_interval) - time.monotonic()
        until_help = self._wanted.until_help()
        if until_help is not None and until_help <= 0:
            await self._look()
            return 0.0 if self._wanted.now(self._looked_at) else LOOK_AGAIN
        known = (until_poll, self._wanted.until_own(), until_help)
        return max(min(seconds for seconds in known if seconds is not None), 0.0)
