"""The actors: workers made of real parts, a reaper that declares them lost, and a client that makes changes."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import LiteralString, Protocol

import psycopg

from pgsched.delivery.app import App
from pgsched.domain.execution import ClaimedExecution
from pgsched.scheduler.assembly import Assembly
from pgsched.settings import Settings
from pgsched.store.admin import worker_registry
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.gates import gates
from pgsched.store.live import executions, reaping, recorded_starts
from pgsched.store.live.claimed_row_recheck import Recall, recall
from pgsched.store.live.executions import Group, Lease, PartitionShare, Times
from pgsched.store.live.reaping import ReapRange
from pgsched.store.live.settle_locks import still_leased
from pgsched.worker.gates.admission import Admission
from pgsched.worker.known_gates import GateCounts
from pgsched.worker.settle.batch import Batch
from pgsched.worker.settle.batch_sending import settle
from tests.interleavings.stage import Actor, Part


class Ledger(Protocol):
    """What is known outside the database; the partitions of the rows; the time of claims, in the wire format; whether
    only one call may be in progress; the calls in progress; and the number of changes acknowledged to a client."""

    now: int
    one_by_one: bool
    changes: int
    going_on: dict[int, ClaimedExecution]

    @property
    def partitions(self) -> Sequence[int]: ...

    def call(self, row: ClaimedExecution, number: int) -> None:
        """The worker with this number makes a call. It lasts until its end is recorded or refused."""

    def count(self, row: ClaimedExecution, number: int) -> None:
        """A row's end was acknowledged to the worker with this number, which recorded it."""

    def withdraw(self) -> None:
        """The cancellation of a client's execution was acknowledged."""

    def change(self) -> None:
        """A client's change was acknowledged."""


def admission(url: str, number: int) -> Admission:
    """Returns the gates of the worker with this number."""
    app = App()
    app.handler("x")(called)
    parts = Assembly(Settings(database_url=url), app=app)
    parts.assignment.number = number
    parts.clock.observe(to_instant(datetime.now(UTC)), time.monotonic(), time.monotonic())
    return parts.admission


def anew(admission: Admission) -> None:
    """Resets what the gates have let through and hold, as in a new worker."""
    admission.holding.clear()
    admission.counts = GateCounts()


async def called() -> None:
    """A handler for the worker; calls are recorded in the ledger instead."""


def worker(
    url: str, ledger: Ledger, number: int, *, ends: str, once: bool = False, claims: int = 1, hears: bool = False
) -> Part:
    """A worker that, ``claims`` times, claims what is due, calls it and settles it. ``ends`` is how calls end; with
    ``once`` each may be made only once. With ``hears`` it knows of all changes before it begins a row."""
    admit = admission(url, number)

    async def part(actor: Actor) -> None:
        anew(admit)
        for left in range(claims, 0, -1):
            actor.knows[:] = [left, ledger.changes]  # its knowledge from the previous turn no longer matters
            await turn(actor)

    async def turn(actor: Actor) -> None:
        changes = ledger.changes
        rows = await claim(actor, number, ledger.partitions, admit, now=ledger.now)
        for row in rows:
            if once:
                await actor.step("begin")
                if not await recorded_starts.note(actor.connection, [row], begun=True):
                    continue
            if hears or once or ledger.one_by_one:  # otherwise it makes no difference to others when a call begins
                await actor.step("call")
            if hears:
                if not await is_as_it_was(actor, row, admit):
                    continue
                assert ledger.changes == changes, f"{row.key} begins as it was before it was changed"
            ledger.call(row, number)
            await actor.step("settle")
            if await record(actor, row, ends):
                ledger.count(row, number)
            ledger.going_on.pop(number, None)

    return part


async def is_as_it_was(actor: Actor, row: ClaimedExecution, admission: Admission) -> bool:
    """Returns whether a row may begin, as a worker checks after it is notified of a change."""
    connection, group = actor.connection, Group.of([row])
    if not await still_leased(connection, {row.partition: group}):
        return False
    stricter = admission.known_gates.read(await gates.known_gates(connection))
    if stricter.intersection(admission.known_gates.gates_of(row)):
        await executions.release(connection, row.partition, group)
        return False
    found = Recall.LOCKED if (row.plan or 0) > 0 and row.attempt == 1 else Recall.KEPT
    while found is Recall.LOCKED:
        async with connection.transaction():
            found = await recall(connection, row)
            actor.knows.append(found)
            if found is not Recall.KEPT:
                await actor.step("commit the recall")
        if found is Recall.LOCKED:
            actor.knows.pop()  # otherwise each check would be a separate state, without end
    return found is Recall.KEPT


async def claim(
    actor: Actor, number: int, partitions: Sequence[int], admission: Admission, *, now: int
) -> list[ClaimedExecution]:
    """Leases what is due and may begin. Stops before the commit."""
    connection = actor.connection
    admission.known_gates.read(await gates.known_gates(connection))

    async def admit(_: object, rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
        passed = await admission.admit(connection, rows)
        actor.knows.append(
            tuple(tuple((row.key, row.job_id and row.scheduled_for) for row in some) for some in (rows, passed))
        )
        await actor.step("commit the claim")
        return passed

    lease = Lease(owner=number, token=number, length=timedelta(seconds=30), ahead=timedelta(0))
    shares = [PartitionShare(partition, LONG_AGO, 100) for partition in partitions]
    return (await executions.claim(connection, lease, shares, now=now, admit=admit)).rows


def _told(row: ClaimedExecution) -> tuple[object, ...]:
    """Returns what a worker knows of a row, except ids, which differ between orders."""
    return row.key, row.scheduled_for if row.job_id else None


async def record(actor: Actor, row: ClaimedExecution, ends: str) -> bool:
    """Records how a call ended. Stops before the commit. Returns True if the row was still this worker's and its end
    was recorded."""
    batch = Batch()
    match ends:
        case "succeeded":
            batch.succeed(row, None)
        case _:
            batch.finish(row, "failed", Times(0, 0.1), counts=False, reason="503", retryable=ends == "retried")
    async with actor.connection.transaction():
        settled = await settle(actor.connection, batch)
        actor.knows.append(tuple(settled.outcomes))
        await actor.step("commit the settle")
    return settled.outcomes.keys() & {"succeeded", "failed"} != set()


async def note_use(connection: Connection, number: int, admission: Admission) -> None:
    """Writes how many executions a worker holds for each gate, as its gate_claimer does."""
    names = {standing.name for standing in await gates.known_gates(connection)}
    await gates.note_use(connection, number, {name: admission.counts.running[name] for name in names})


def reaper(ledger: Ledger, numbers: list[int]) -> Part:
    """Declares workers lost, one after another, and reclaims their rows."""

    async def part(actor: Actor) -> None:
        for number in numbers:
            async with actor.connection.transaction():
                await reap(actor, ledger.partitions, [number])
                await actor.step("commit the reap")
            await worker_registry.forget(actor.connection, [number])

    return part


async def reap(actor: Actor, partitions: Sequence[int], numbers: list[int]) -> None:
    for partition in partitions:
        found = await reaping.reap(actor.connection, ReapRange(partition, LONG_AGO, 100), numbers, ended_by=0.0)
        actor.knows.append((found.returned, found.failed))


def client(ledger: Ledger, query: LiteralString) -> Part:
    """A client that calls a function of the interface, which may refuse."""

    async def part(actor: Actor) -> None:
        try:
            async with actor.connection.transaction():
                done = (await (await actor.connection.execute(query)).fetchone() or (None,))[0]
                actor.knows.append(done)
                await actor.step("commit the change")
        except psycopg.ProgrammingError as refused:
            actor.knows.append(refused.sqlstate)
        else:
            if done is not False:
                ledger.change()
            if done is True and "cancel" in query:
                ledger.withdraw()

    return part
