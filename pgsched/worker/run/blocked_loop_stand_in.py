"""Stands in for the worker's event loop, in a thread, while the loop is blocked.

While the loop is blocked, the process is still alive, so rows that have begun in it must not begin in another worker
too. Rows that have not begun should begin in another worker at once. So after a second, the thread, which has its own
event loop, does the following:

- It gives up the rows that have not begun: it makes sure that the blocked loop will not start them (``in_hand``), and
  then releases their leases.
- It hands back rows of claims whose results the loop has not read. It ends the worker's sessions that are in a
  transaction, because other sessions may wait for their locks.
- It renews the worker's registration and the leases of rows that have begun, because the loop may resume. When the
  blocking attempt has taken as long as it may and half a lease more, the thread ends the process (``forced_exit``), and
  the execution that blocked the loop will be called in isolation. If the thread may not end the process, the worker
  counts as lost, like any silent worker.

The thread cannot help if the handler holds the GIL, as some extensions do, or if the process is stopped. In that case,
the other workers find this worker silent, and the loop doubts its leases when it resumes.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

import psycopg

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import blocked_loop, executions
from pgsched.store.live.executions import Group
from pgsched.store.live.reaping import release_claims
from pgsched.telemetry import Events
from pgsched.worker.assignment import RENEWALS, Assignment
from pgsched.worker.claiming_connection import SURE
from pgsched.worker.in_hand import InHand, LeaseValidity
from pgsched.worker.run.forced_exit import ExitStatus, ProcessExit
from pgsched.worker.run.unbegun_row_recall import UnbegunRows

_SPARED = 0.5
_TRY_AGAIN = 1.0
_TRIES = 10
_DEPTH = 1000  # due rows of each partition among which a claim's rows are searched for


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsInHand:
    """Gives another thread access to the rows that the dispatcher has in hand."""

    tenure: LeaseValidity
    in_hand: InHand
    unbegun: UnbegunRows

    def give_up(self, void_until: float) -> list[ClaimedExecution]:
        """Keeps the loop from starting rows until it has handed back all that have not begun. Returns the rows that
        have not begun, or an empty list if the loop has resumed and already handed them back."""
        self.tenure.give_up(void_until)
        rows = _copied(self.unbegun.copy)
        return rows if self.tenure.is_given_up else []

    def begun(self, given_up: Iterable[ClaimedExecution]) -> list[ClaimedExecution]:
        """Returns the rows in hand that have begun: all except those that were given up."""
        others = {row.id for row in given_up}
        return _copied(lambda: [row for row in list(self.in_hand.rows.values()) if row.id not in others])


class StandIn:
    """Does the work of a blocked loop. The thread calls ``step`` repeatedly while the loop is blocked, and ``rest``
    while it is not. ``unanswered`` returns the tokens of claims whose results were not read. ``longest`` is the number
    of seconds for which an attempt may block the loop, whatever its timeout."""

    def __init__(
        self,
        url: str,
        assignment: Assignment,
        events: Events,
        *,
        lease: timedelta,
        unanswered: Callable[[], Sequence[int]],
        announces: bool,
        longest: float = float("inf"),
        process_exit: ProcessExit | None = None,
    ) -> None:
        self._assignment, self._events = assignment, events
        self._lease, self._unanswered, self._announces = lease, unanswered, announces
        self._longest, self._process_exit = longest, process_exit
        self._link = Link(url, "standin")
        self._runner: asyncio.Runner | None = None
        self._since = self._not_before = self._renew_at = float("-inf")
        self._given_up: list[ClaimedExecution] | None = None
        self._is_released = self._is_over = False

    def step(self, hand: RowsInHand, since: float, culprit: ClaimedExecution | None, until: float | None) -> None:
        """Takes the next steps that are due. The attempt at ``culprit`` began to block the loop at ``since``
        (monotonic), and its time ends at ``until``. An unknown culprit may take as long as a lease."""
        if since != self._since:
            self._begin(since)
        if self._given_up is None:
            self._given_up = hand.give_up(time.monotonic() + SURE * self._lease.total_seconds())
        lease, now = self._lease.total_seconds(), time.monotonic()
        until = min(since + lease if until is None else until, since + self._longest) + _SPARED * lease
        if now >= self._not_before and not self._is_over and self._assignment.number:
            self._runner = self._runner or asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
            try:
                self._runner.run(self._do_next(hand, culprit, is_over=now >= until))
            except (psycopg.Error, OSError):
                self._not_before = time.monotonic() + _TRY_AGAIN
                self.rest()
        if self._process_exit is not None and now >= until:
            rows = hand.begun(self._given_up)
            rows.sort(key=lambda row: row is not culprit)
            self._process_exit.now(ExitStatus.BLOCKED, f"the event loop has been blocked for {now - since:.1f} s", rows)

    def rest(self) -> None:
        """Closes the connection, because the loop is no longer blocked."""
        runner, self._runner = self._runner, None
        if runner is not None:
            with runner, suppress(psycopg.Error, OSError):
                runner.run(self._link.drop())

    def _begin(self, since: float) -> None:
        self._since, self._given_up = since, None
        self._renew_at = self._not_before = float("-inf")
        self._is_released = self._is_over = False

    async def _do_next(self, hand: RowsInHand, culprit: ClaimedExecution | None, *, is_over: bool) -> None:
        connection, now, given_up = await self._link.get(), time.monotonic(), self._given_up or []
        if not self._is_released:
            await self._release(connection, given_up)
            self._is_released = True
        if is_over:
            self._is_over = True
            if culprit is not None:
                await blocked_loop.mark_for_isolation(connection, culprit)
        elif now >= self._renew_at:
            self._renew_at = now + self._lease.total_seconds() / RENEWALS
            self._is_over = not await self._assignment.renew(connection)
            begun = [] if self._is_over else hand.begun(given_up)
            for partition, rows in by_partition(begun).items():
                await executions.renew(connection, partition, Group.of(rows), self._lease)

    async def _release(self, connection: Connection, rows: Sequence[ClaimedExecution]) -> None:
        await blocked_loop.end_own_transactions(connection, self._assignment.instance)
        released = 0
        for partition, some in by_partition(rows).items():
            with suppress(psycopg.errors.LockNotAvailable):  # the loop releases locked rows later
                released += (await executions.release(connection, partition, Group.of(some))).rowcount
        if tokens := self._unanswered():
            await release_claims(connection, dict.fromkeys(self._assignment.partitions, LONG_AGO), tokens, depth=_DEPTH)
        if rows and self._announces:
            await blocked_loop.announce(connection, rows)
        self._events.emit("loop.stood_in", released=released)


def _copied(copy: Callable[[], list[ClaimedExecution]]) -> list[ClaimedExecution]:
    """Copies rows that the loop may be changing because it has just resumed."""
    for _ in range(_TRIES):
        with suppress(RuntimeError):
            return copy()
    return []
