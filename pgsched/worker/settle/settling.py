"""Sending a batch of outcomes: all at once, or warily, where somebody has locked a row of it or one cannot be settled.

A client's open transaction may hold rows that are in hand, and jobs whose outcomes are counted. Nobody else's outcome
waits for that: warily only what can be locked at once is settled, and the rest is tried again later. A row that the
database refuses to settle loses first what it answered, and is then put away (``store.live.parking``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import AsyncCursor

from pgsched.store.core.connect import Connection
from pgsched.store.core.isolation import Culprit, by_halves, is_a_lock, is_of_a_row, reason_of
from pgsched.store.ends import deferred
from pgsched.store.gates import gates
from pgsched.store.gates.ordering import let_next
from pgsched.store.live import executions, settling
from pgsched.store.live.parking import Parked, park
from pgsched.worker.settle.batch import Batch

Turn = tuple[int, str, str]
"""Partition, client and ordering key."""


@dataclass(slots=True)
class Settled:
    """What became of a batch: how many rows were settled, and by how many statements; what was locked by others, or
    refused; whose turn it may be now that nobody could say; and the instants, by partition, at which those fire whose
    turn it is."""

    count: int = 0
    statements: int = 0
    locked: set[bytes] = field(default_factory=set)
    parked: list[Parked] = field(default_factory=list)
    turns: set[Turn] = field(default_factory=set)
    fires: list[tuple[int, int]] = field(default_factory=list)


async def settle(connection: Connection, batch: Batch, owner: int, *, turns: bool = True) -> Settled:
    """Sends the statements of a batch together; they are committed together."""
    settled = Settled()
    cursors: list[AsyncCursor[tuple[Any, ...]]] = []
    counted: list[AsyncCursor[tuple[Any, ...]]] = []
    async with connection.pipeline():
        for code, groups in batch.succeeded.items():
            cursors += await executions.settle_succeeded(connection, code, groups)
        for partition, group in batch.released.items():
            cursors.append(await executions.release(connection, partition, group))
        for partition, group in batch.cut_short.items():
            cursors.append(await executions.cut_short(connection, partition, group))
        for partition, put_off in batch.postponed.items():
            cursors.append(await executions.postpone(connection, partition, put_off))
        counted += await executions.settle_discarded(connection, batch.discarded)
        for partition, ends in batch.finished.items():
            counted.append(await executions.settle_finished(connection, partition, ends))
        for partition, tries in batch.retried.items():
            counted.append(await executions.settle_retried(connection, owner, partition, tries))
        for partition, parked in batch.parked.items():
            await deferred.park(connection, partition, parked)
        for partition, held in batch.held.items():
            await gates.hold_in(connection, partition, held)
        nexts = {
            partition: await let_next(connection, partition, sorted(keys))
            for partition, keys in (sorted(batch.ended_keys.items()) if turns else ())
        }
    for partition, cursor in nexts.items():
        settled.fires += [(partition, instant) for (instant,) in await cursor.fetchall() if instant is not None]
    settled.count = sum(cursor.rowcount for cursor in cursors) + sum(map(len, batch.parked.values()))
    settled.count += sum(map(len, batch.held.values()))
    settled.statements = len(cursors) + len(counted) + len(batch.parked) + len(batch.held) + len(nexts)
    for cursor in counted:
        row = await cursor.fetchone()
        settled.count += row[0] if row else 0
    return settled


class Wary:
    """Settles a batch in transactions of what nobody else has locked."""

    def __init__(self, connection: Connection, batch: Batch, owner: int) -> None:
        self._connection, self._batch, self._owner = connection, batch, owner
        self._settled = Settled()

    async def settle(self) -> Settled:
        """Raises what is no row's fault; what had been settled by then is refused when it is sent again."""
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
            free = await settling.lock_free(self._connection, batch.homes())
            if batch.jobs:
                jobs = await settling.lock_free_jobs(self._connection, batch.jobs.values())
                free -= {id for id, job in batch.jobs.items() if job not in jobs}
            part = batch.only(free)
            settled = await settle(self._connection, part, self._owner, turns=False)
        self._settled.count += settled.count
        self._settled.statements += settled.statements
        self._settled.turns.update(part.keys.values())
        if part.count < batch.count:
            rest = batch.only({id for id, _ in batch.rows()} - free)
            self._settled.locked |= await settling.still_leased(self._connection, rest.homes())

    async def _put_away(self, culprit: Culprit[bytes]) -> None:
        """Settles it without what it answered; where that is refused too, it is held, though it has ended."""
        plain, ended = self._batch.only({culprit.row}).without_answers(reason_of(culprit.error))
        if ended:
            try:
                async with self._connection.transaction():
                    settled = await settle(self._connection, plain, self._owner, turns=False)
                self._settled.count += settled.count
                self._settled.statements += settled.statements
                self._settled.turns.update(plain.keys.values())
                return
            except psycopg.Error as error:
                if not is_of_a_row(error):
                    raise
        before = f"it has {ended}, which cannot be recorded: " if ended else ""
        [(partition, group)] = plain.homes().items()
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
    """Lets the next of each ordering key have its turn, and takes those out for which it could be decided: those left
    are locked by others. The instants, by partition, at which they fire."""
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
        # One that cannot be decided is for the sweep, which tells of it.
        left.update(parted.untried, [culprit.row for culprit in parted.culprits if is_a_lock(culprit.error)])
    turns.intersection_update(left)
    return fires
