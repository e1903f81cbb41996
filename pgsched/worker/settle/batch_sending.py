"""Sends a batch of outcomes: as a whole, or only the part that can be settled.

A client's open transaction may lock rows in hand, or jobs that count outcomes. So that other outcomes do not wait for
the transaction, ``LockAvoidingSettle`` settles only rows that it can lock at once, and the others are retried later. If
the database refuses to settle a row, the row is settled without its result. If that fails too, the row is set aside
(``store.live.parked_rows``).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncCursor

from pgsched.store.core.connect import Connection
from pgsched.store.core.culprits import Culprit, by_halves, is_a_lock, is_of_a_row, reason_of
from pgsched.store.ends import completed_later
from pgsched.store.gates import gates
from pgsched.store.gates.ordering import let_next
from pgsched.store.live import executions, settle_locks
from pgsched.store.live.parked_rows import SetAside, park
from pgsched.worker.settle.batch import CUT_SHORT, DISCARDED, RELEASED, Batch

Turn = tuple[int, str, str]
"""Partition, client and ordering key."""


@dataclass(slots=True)
class SettleReport:
    """What became of a batch. ``turns`` lists the ordering keys whose next execution could not be decided. ``fires``
    lists the partition and instant of each row that fires again, or whose turn has come under its ordering key."""

    outcomes: Counter[str] = field(default_factory=Counter)
    statements: int = 0
    locked: set[bytes] = field(default_factory=set)
    parked: list[SetAside] = field(default_factory=list)
    turns: set[Turn] = field(default_factory=set)
    fires: list[tuple[int, int]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of settled rows."""
        return self.outcomes.total()

    def add(self, other: "SettleReport") -> None:
        self.outcomes.update(other.outcomes)
        self.statements += other.statements
        self.fires += other.fires


async def settle(connection: Connection, batch: Batch, *, turns: bool = True) -> SettleReport:
    """Sends a batch in one pipeline and one transaction."""
    settled = SettleReport()
    moved: list[tuple[str, AsyncCursor[tuple[Any, ...]]]] = []
    finished: dict[int, AsyncCursor[tuple[Any, ...]]] = {}
    async with connection.pipeline():
        for code, groups in batch.succeeded.items():
            moved += [
                ("succeeded", one) for one in await executions.settle_succeeded(connection, code, groups, batch.short)
            ]
        if batch.answered:
            moved += [("succeeded", one) for one in await executions.settle_answered(connection, batch.answered)]
        moved += [("succeeded", one) for one in await executions.settle_discarded(connection, batch.groups[DISCARDED])]
        for partition, group in batch.groups[RELEASED].items():
            moved.append(("released", await executions.release(connection, partition, group)))
        for partition, group in batch.groups[CUT_SHORT].items():
            moved.append(("released", await executions.cut_short(connection, partition, group)))
        for partition, put_off in batch.postponed.items():
            moved.append(("postponed", await executions.postpone(connection, partition, put_off)))
        for partition, ends in batch.finished.items():
            finished[partition] = await executions.settle_finished(connection, partition, ends)
        for partition, accepted in batch.deferred.items():
            await completed_later.defer(connection, partition, accepted)
            settled.outcomes["deferred"] += len(accepted)
        for partition, held in batch.held.items():
            await gates.hold_in(connection, partition, held)
            settled.outcomes["held"] += len(held)
        nexts = {
            partition: await let_next(connection, partition, sorted(keys))
            for partition, keys in (sorted(batch.ended_keys.items()) if turns else ())
        }
    for outcome, cursor in moved:
        settled.outcomes[outcome] += cursor.rowcount
    for partition, cursor in finished.items():
        for count, status, instant in await cursor.fetchall():
            settled.outcomes["postponed" if status == "scheduled" else status] += count
            settled.fires += [(partition, instant)] if instant is not None else []
    for partition, cursor in nexts.items():
        settled.fires += [(partition, instant) for (instant,) in await cursor.fetchall() if instant is not None]
    settled.outcomes = +settled.outcomes
    settled.statements = len(moved) + len(finished) + len(batch.deferred) + len(batch.held) + len(nexts)
    return settled


class LockAvoidingSettle:
    """Settles the rows of a batch that no other transaction has locked."""

    def __init__(self, connection: Connection, batch: Batch) -> None:
        self._connection, self._batch = connection, batch
        self._settled = SettleReport()

    async def settle(self) -> SettleReport:
        """Settles as many rows as possible. Raises any error that no row caused. If the batch is sent again after such
        an error, the rows that were already settled are refused."""
        parted = await by_halves([id for id, _ in self._batch.rows()], self._work)
        self._settled.locked.update(parted.untried)
        for culprit in parted.culprits:
            if is_a_lock(culprit.error):
                self._settled.locked.add(culprit.row)
            else:
                await self._put_away(culprit)
        self._settled.fires += await let_turns(self._connection, self._settled.turns)
        return self._settled

    async def _work(self, ids: Sequence[bytes]) -> None:
        batch = self._batch.only(set(ids))
        async with self._connection.transaction():
            free = await settle_locks.lock_free(self._connection, batch.by_partition())
            if batch.jobs:
                jobs = await settle_locks.lock_free_jobs(self._connection, batch.jobs.values())
                free -= {id for id, job in batch.jobs.items() if job not in jobs}
            part = batch.only(free)
            settled = await settle(self._connection, part, turns=False)
        self._settled.add(settled)
        self._settled.turns.update(part.keys.values())
        if part.count < batch.count:
            rest = batch.only({id for id, _ in batch.rows()} - free)
            self._settled.locked |= await settle_locks.still_leased(self._connection, rest.by_partition())

    async def _put_away(self, culprit: Culprit[bytes]) -> None:
        """Settles a row without its result or, if the database refuses that too, sets the row aside."""
        plain, ended = self._batch.only({culprit.row}).without_answers(reason_of(culprit.error))
        if ended:
            try:
                async with self._connection.transaction():
                    settled = await settle(self._connection, plain, turns=False)
                self._settled.add(settled)
                self._settled.turns.update(plain.keys.values())
                return
            except psycopg.Error as error:
                if not is_of_a_row(error):
                    raise
        before = f"the execution {ended}, but that cannot be recorded: " if ended else ""
        [(partition, group)] = plain.by_partition().items()
        try:
            self._settled.parked.append(
                await park(
                    self._connection, partition, culprit.row, culprit.error,
                    token=group.tokens[0], with_job=False, before=before,
                )
            )  # fmt: skip
        except psycopg.Error as error:
            if not is_a_lock(error):
                raise
            self._settled.locked.add(culprit.row)


async def let_turns(connection: Connection, turns: set[Turn]) -> list[tuple[int, int]]:
    """Gives the next execution of each ordering key its turn, and returns the partition and instant of each such
    execution. Locked keys stay in ``turns``; all other keys are removed."""
    fires: list[tuple[int, int]] = []

    async def let(some: Sequence[Turn]) -> None:
        [partition] = {turn[0] for turn in some}
        async with connection.transaction():
            cursor = await let_next(connection, partition, sorted({(client, key) for _, client, key in some}))
            found = [(partition, instant) for (instant,) in await cursor.fetchall() if instant is not None]
        fires.extend(found)

    left: set[Turn] = set()
    for partition in sorted({turn[0] for turn in turns}):
        parted = await by_halves([turn for turn in turns if turn[0] == partition], let)
        # Keys with other errors are left to the sweep, which reports them.
        left.update(parted.untried, [culprit.row for culprit in parted.culprits if is_a_lock(culprit.error)])
    turns.intersection_update(left)
    return fires
