"""Carries out bulk operations in chunks, each in a transaction that records its progress.

So a crash loses and repeats nothing, however many workers there are. A backfill's rows are planned at most ``AHEAD``
before they fire, so that other executions run in between, and little has to be undone if the backfill is cancelled.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.recurrence import Recurrence
from pgsched.store import internal_verbs, verbs
from pgsched.store.bulk.backfill_instants import MICROSECOND, Range, instants_in, recurrence_of
from pgsched.store.bulk.operation_types import Active, Chunk
from pgsched.store.core.culprits import reason_of
from pgsched.store.core.query import column, rows
from pgsched.store.core.sql import statement

MOST = 50
"""Maximum number of rows changed per chunk. Each row uses a subtransaction; more subtransactions than PostgreSQL caches
would slow down every other session."""
_PLANNED = 250
AHEAD = timedelta(seconds=2)
NOTHING = Chunk(0, more=False, finished=False)
_ENDED_BY = "pgsched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A backfill in progress, its pace, and what may hold it up."""

    id: UUID
    job_id: UUID
    starts_at: datetime
    ends_at: datetime
    reached_at: datetime | None
    rate: float
    total: int | None
    now: datetime
    paced_until: datetime
    job_state: str
    behind: bool

    @property
    def room(self) -> int:
        """The number of rows that may be planned now: at least one, if the last planned row is close to firing."""
        lead = self.paced_until - self.now
        found = max(0, int(self.rate * (AHEAD - lead).total_seconds()))
        return max(1, found) if lead <= AHEAD / 2 else found

    def instants_after(self, recurrence: Recurrence, most: int) -> list[datetime]:
        """Returns the next instants that have not been accounted for."""
        after = self.starts_at - MICROSECOND if self.reached_at is None else self.reached_at
        return [at for at in recurrence.instants(after, most) if at < self.ends_at]


async def active(connection: AsyncConnection[Any]) -> list[Active]:
    """Returns the unfinished operations, oldest first."""
    return await rows(connection, Active, "bulk/active")


async def advance(connection: AsyncConnection[Any], one: Active) -> Chunk:
    """Processes an operation's next chunk. Raises InvalidSchedule or OverflowError if a backfill cannot continue."""
    if one.action == "backfill":
        return await plan_chunk(connection, one.id, most=_PLANNED)
    return await internal_verbs.advance_bulk(connection, one.id, most=MOST)


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Stops an operation that cannot continue, and records the reason. Returns True if it was still active."""
    async with connection.transaction():
        if not await verbs.stop_bulk(connection, id, actor=_ENDED_BY):
            return False
        await connection.execute(statement("bulk/note_reason"), {"operation": id, "reason": reason_of(error)})
    return True


async def plan_chunk(connection: AsyncConnection[Any], id: UUID, *, most: int) -> Chunk:
    """Accounts for at most ``most`` instants of a backfill, in one transaction.

    Plans nothing while earlier rows are still far from firing, while other rows of the partition are late, or while
    another worker is processing the backfill. Raises InvalidSchedule or OverflowError if the job's schedule is no
    longer valid.
    """
    async with connection.transaction():
        found = await rows(connection, Taken, "bulk/take_backfill", operation=id)
        if not found:
            return NOTHING
        [taken] = found
        if taken.job_state == "cancelled":
            await verbs.stop_bulk(connection, id, actor=_ENDED_BY)
            return NOTHING._replace(finished=True)
        if taken.reached_at == taken.ends_at:
            ended = await connection.execute(statement("bulk/finish_backfill"), {"operation": id})
            return NOTHING._replace(finished=ended.rowcount == 1)
        if taken.behind or not taken.room:
            return NOTHING
        return await _plan(connection, taken, await recurrence_of(connection, taken.job_id), most)


async def _plan(connection: AsyncConnection[Any], taken: Taken, recurrence: Recurrence, most: int) -> Chunk:
    asked = await asyncio.to_thread(taken.instants_after, recurrence, most)
    run = set(await column(connection, "bulk/taken_instants", job=taken.job_id, instants=asked))
    fresh = [at for at in asked if at not in run]
    chosen = fresh[: taken.room]
    covered = asked if len(chosen) == len(fresh) else [at for at in asked if at <= chosen[-1]]
    fires = [taken.paced_until + timedelta(seconds=place / taken.rate) for place in range(len(chosen))]
    plan = {"job": taken.job_id, "instants": chosen, "fires": fires}
    planned = (await connection.execute(statement("bulk/plan_backfill"), plan)).rowcount
    total = taken.total
    if total is None:
        wanted = Range(job_id=taken.job_id, start=taken.starts_at, end=taken.ends_at)
        total = await asyncio.to_thread(instants_in, recurrence, wanted)
    await connection.execute(
        statement("bulk/advance_backfill"),
        {
            "operation": taken.id,
            "reached_at": covered[-1] if covered else taken.ends_at,
            "paced_until": taken.paced_until + timedelta(seconds=len(chosen) / taken.rate),
            "done": planned,
            "skipped": len(covered) - planned,
            "total": total,
        },
    )
    return Chunk(planned, more=len(fresh) < taken.room, finished=False)
