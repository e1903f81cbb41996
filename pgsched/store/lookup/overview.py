"""Reads the state of the installation, at a cost that does not grow with the number of rows."""

from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.attempt_outcome import NO_SLOT
from pgsched.domain.states import STATUSES
from pgsched.store.core.query import first, rows

MOST_COUNTED = 10_000
"""Maximum number of executions counted of each kind: due, due later, held, ended."""
_EDGE = 10  # executions examined in each partition to find the oldest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionCounts:
    """Executions by status. The counts of the statuses in ``at_least`` are lower bounds. Only the newest of the ended
    executions are counted.
    """

    executions: dict[str, int]
    at_least: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLateness:
    """The number of seconds by which the oldest due and unclaimed execution of a queue is late."""

    queue: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """A queue. If nothing begins in the queue, ``stall`` is the reason."""

    name: str
    pulled: bool
    paused: bool
    stall: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingWorker:
    """A running worker, and the queues that it serves."""

    id: int
    name: str
    queues: list[str]
    concurrency: int
    release: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliverableCount:
    """A capability that executions wait for. ``held`` is the number of executions that wait, counted up to a limit.
    ``workers`` are the workers that have the capability now.
    """

    needs: str
    held: int
    workers: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTransaction:
    """A prepared transaction that has not ended. Other sessions wait for the locks that it holds."""

    gid: str
    owner: str
    prepared: datetime


async def count(connection: AsyncConnection[Any]) -> ExecutionCounts:
    found = await rows(connection, SimpleNamespace, "lookup/count_live", most=MOST_COUNTED)
    found += await rows(connection, SimpleNamespace, "lookup/count_ended", most=MOST_COUNTED)
    counted = {one.status: one.count for one in found}
    cut = {one.status for one in found if one.cut}
    return ExecutionCounts(
        executions={status: counted[status] for status in STATUSES if status in counted},
        at_least=[status for status in STATUSES if status in cut],
    )


async def oldest_due(connection: AsyncConnection[Any]) -> float:
    """Returns the number of seconds by which the oldest due and unclaimed execution is late, or 0 if there is none."""
    return max((one.seconds for one in await late_queues(connection)), default=0.0)


async def late_queues(connection: AsyncConnection[Any]) -> list[QueueLateness]:
    """Returns the queues that have due and unclaimed executions, the most overdue queue first."""
    return await rows(connection, QueueLateness, "lookup/late_queues", most=_EDGE, no_slot=NO_SLOT)


async def queue_states(connection: AsyncConnection[Any]) -> list[QueueState]:
    """Returns all queues, by name."""
    return await rows(connection, QueueState, "lookup/queue_states")


async def living_workers(connection: AsyncConnection[Any]) -> list[LivingWorker]:
    """Returns the running workers in the order in which they registered."""
    return await rows(connection, LivingWorker, "lookup/living_workers")


async def undeliverable(connection: AsyncConnection[Any]) -> list[UndeliverableCount]:
    """Returns at most twenty capabilities that executions wait for."""
    return await rows(connection, UndeliverableCount, "lookup/undeliverable")


async def prepared_transactions(connection: AsyncConnection[Any]) -> list[PreparedTransaction]:
    """Returns at most twenty transactions of the database that were left prepared, oldest first."""
    return await rows(connection, PreparedTransaction, "lookup/prepared_transactions")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """The size of a table and its partitions or days: the bytes of rows and indexes at the last vacuum or analyze, the
    server's estimates of the number of rows, and when any part was last vacuumed.
    """

    name: str
    parts: int
    heap: int
    indexes: int
    live: int
    dead: int
    cleaned_at: datetime | None


async def table_sizes(connection: AsyncConnection[Any], *, most: int) -> list[TableSize]:
    """Returns table sizes, largest first."""
    return await rows(connection, TableSize, "lookup/table_sizes", most=most)


async def days_ahead(connection: AsyncConnection[Any]) -> tuple[int, str]:
    """Returns for how many days, including today, every table has partitions, and the table that has the fewest."""
    found = await first(connection, "doctor/days_ahead") or (0, "history")
    return int(found[0]), str(found[1])
