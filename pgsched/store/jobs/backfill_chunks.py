"""Running a backfill: chunk by chunk, each in a transaction that plans rows and notes how far it came.

So a crash between two chunks loses and doubles nothing, however many workers there are. Rows are planned no more than
``AHEAD`` of their pace before they fire: whatever else becomes due goes between them, and little is left to take back
when the backfill is cancelled.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.recurrence import Recurrence
from pgsched.errors import InvalidSchedule
from pgsched.store import verbs
from pgsched.store.core.active import Active
from pgsched.store.core.isolation import reason_of
from pgsched.store.core.query import column, rows
from pgsched.store.core.sql import statement
from pgsched.store.jobs.backfills import MICROSECOND, Range, instants_in, recurrence_of

AHEAD = timedelta(seconds=2)
_ENDED_BY = "pgsched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A backfill in hand, its pace, and what is in its way."""

    id: UUID
    job_id: UUID
    starts_at: datetime
    ends_at: datetime
    reached: datetime | None
    rate: float
    instants: int | None
    now: datetime
    paced_until: datetime
    job_state: str
    all_planned: bool
    behind: bool

    @property
    def room(self) -> int:
        """How many rows may be planned now; at least one, once the last is near."""
        lead = self.paced_until - self.now
        found = max(0, int(self.rate * (AHEAD - lead).total_seconds()))
        return max(1, found) if lead <= AHEAD / 2 else found

    def instants_after(self, recurrence: Recurrence, most: int) -> list[datetime]:
        """The next instants that are not accounted for yet."""
        after = self.starts_at - MICROSECOND if self.reached is None else self.reached
        return [at for at in recurrence.instants(after, most) if at < self.ends_at]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillChunk:
    """What became of one turn at a backfill. ``more``: the next chunk need not wait."""

    planned: int = 0
    more: bool = False
    finished: bool = False
    fault: str | None = None


async def active(connection: AsyncConnection[Any]) -> list[Active]:
    """The backfills that are not done, the oldest first."""
    return await rows(connection, Active, "jobs/active_backfills")


async def plan_chunk(connection: AsyncConnection[Any], id: UUID, *, most: int) -> BackfillChunk:
    """Accounts for at most ``most`` instants of a backfill, in one transaction.

    Plans nothing while the rows planned before are still ahead, while other rows of the partition are late, and where
    another worker has the backfill in hand. A job whose schedule makes no sense any more ends its backfills.
    """
    async with connection.transaction():
        taken = await _take(connection, id)
        if taken is None:
            return BackfillChunk()
        if taken.job_state == "cancelled":
            await verbs.cancel_backfill(connection, id, actor=_ENDED_BY)
            return BackfillChunk(finished=True)
        if taken.all_planned:
            return BackfillChunk(finished=await _finish(connection, id))
        if taken.behind or not taken.room:
            return BackfillChunk()
        try:
            recurrence = await recurrence_of(connection, taken.job_id)
            return await _plan(connection, taken, recurrence, most)
        except (InvalidSchedule, OverflowError) as error:
            await give_up(connection, id, error)
            return BackfillChunk(finished=True, fault=str(error))


async def give_up(connection: AsyncConnection[Any], id: UUID, error: Exception) -> bool:
    """Ends a backfill that cannot be planned, and says why; what is planned of it and waits is taken back."""
    async with connection.transaction():
        if not await verbs.cancel_backfill(connection, id, actor=_ENDED_BY):
            return False
        await connection.execute(statement("jobs/note_fault_of_backfill"), {"backfill": id, "reason": reason_of(error)})
    return True


async def _take(connection: AsyncConnection[Any], id: UUID) -> Taken | None:
    found = await rows(connection, Taken, "jobs/backfill_to_advance", backfill=id)
    return found[0] if found else None


async def _plan(connection: AsyncConnection[Any], taken: Taken, recurrence: Recurrence, most: int) -> BackfillChunk:
    asked = await asyncio.to_thread(taken.instants_after, recurrence, most)
    run = await _taken_instants(connection, taken.job_id, asked)
    fresh = [at for at in asked if at not in run]
    chosen = fresh[: taken.room]
    covered = asked if len(chosen) == len(fresh) else [at for at in asked if at <= chosen[-1]]
    planned = await _insert(connection, taken, chosen)
    instants = taken.instants
    if instants is None:
        instants = await asyncio.to_thread(instants_in, recurrence, Range(start=taken.starts_at, end=taken.ends_at))
    await connection.execute(
        statement("jobs/advance_backfill"),
        {
            "backfill": taken.id,
            "reached": covered[-1] if covered else taken.ends_at,
            "paced_until": taken.paced_until + timedelta(seconds=len(chosen) / taken.rate),
            "planned": planned,
            "passed_over": len(covered) - planned,
            "instants": instants,
        },
    )
    return BackfillChunk(planned=planned, more=len(fresh) < taken.room)


async def _taken_instants(
    connection: AsyncConnection[Any], job_id: UUID, instants: Sequence[datetime]
) -> set[datetime]:
    if not instants:
        return set()
    return set(await column(connection, "jobs/taken_instants", job=job_id, instants=list(instants)))


async def _insert(connection: AsyncConnection[Any], taken: Taken, instants: Sequence[datetime]) -> int:
    if not instants:
        return 0
    fires = [taken.paced_until + timedelta(seconds=place / taken.rate) for place in range(len(instants))]
    parameters = {"job": taken.job_id, "instants": list(instants), "fires": fires}
    return (await connection.execute(statement("jobs/plan_backfill"), parameters)).rowcount


async def _finish(connection: AsyncConnection[Any], id: UUID) -> bool:
    return (await connection.execute(statement("jobs/finish_backfill"), {"backfill": id})).rowcount == 1
