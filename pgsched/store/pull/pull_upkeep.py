"""What workers do for queues that consumers pull from: SQL hands executions out, but cannot plan a job's next row.

A job's row is claimed a moment before its instant, as one in any queue: with the claim its successor is planned, and
what is not to run is accounted for. What runs is handed back in the same transaction, and then consumers may have it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.queue_partitions import partitions_of
from pgsched.store.core.culprits import is_of_a_row
from pgsched.store.core.query import column
from pgsched.store.core.sql import statement, statement_among, statement_over
from pgsched.store.core.wire import Instant
from pgsched.store.jobs.claimed_next_rows import plan_successors
from pgsched.store.live import executions
from pgsched.store.live.claim_culprits import RowPlace, lease_rows, lock_due, sift
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.store.live.set_aside import SetAside

_PLANNED = ("planned",)


class PullHandOver(NamedTuple):
    """Of which queue, by its first partition; from which instant on (wire count), and how many of each partition."""

    queue: int
    low: int
    batch: int


async def queues(connection: AsyncConnection[Any], *, worker: int) -> list[int]:
    """The first partitions of the queues that are pulled, for the first of the living workers; nothing for others."""
    return await column(connection, "pull/pulled_queues", worker=worker)


async def pass_on(connection: AsyncConnection[Any], lease: Lease, what: PullHandOver, *, now: int) -> int:
    """Plans what follows the planned rows that are due, and leaves these to the consumers; how many rows it read."""
    try:
        return await _pass_on(connection, lease, what, now, again=False)
    except psycopg.errors.UniqueViolation:  # somebody else has planned a successor: rare, and all was rolled back
        return await _pass_on(connection, lease, what, now, again=True)


async def pass_on_without(
    connection: AsyncConnection[Any], lease: Lease, what: PullHandOver, *, now: int
) -> tuple[int, list[SetAside]]:
    """The same, without the rows for whose sake it fails; those that were parked."""
    try:
        return await pass_on(connection, lease, what, now=now), []
    except Exception as error:
        if not is_of_a_row(error):
            raise

    async def attempt(places: Sequence[RowPlace]) -> None:
        rows = await lease_rows(connection, lease, places)
        first = [row for row in rows if row.attempt == 1]
        planned = await plan_successors(connection, first, lease.definitions, now=now, ahead=lease.ahead, again=True)
        await _hand_back(connection, [row for row in rows if row.id not in planned.idle])

    shares = [PartitionShare(partition, what.low, what.batch) for partition in _partitions(what.queue)]
    parked = await sift(
        connection, lambda: lock_due(connection, lease, shares, _PLANNED, {}), attempt, ahead=lease.ahead
    )
    return await pass_on(connection, lease, what, now=now), parked


def _partitions(queue: int) -> tuple[int, ...]:
    return tuple(partitions_of(queue))


async def _pass_on(connection: AsyncConnection[Any], lease: Lease, what: PullHandOver, now: int, *, again: bool) -> int:
    partitions = _partitions(what.queue)
    parameters: dict[str, Any] = {
        "owner": lease.owner,
        "token": lease.token,
        "lease": lease.length,
        "ahead": lease.ahead,
    }
    for partition in partitions:
        parameters |= {f"low_{partition}": Instant(what.low), f"batch_{partition}": what.batch}
    async with connection.transaction():
        cursor = await connection.execute(statement_over("live/claim", partitions, _PLANNED), parameters, binary=True)
        rows = [ClaimedExecution._make(row) for row in await cursor.fetchall()]
        if rows:
            first = [row for row in rows if row.attempt == 1]
            planned = await plan_successors(
                connection, first, lease.definitions, now=now, ahead=lease.ahead, again=again
            )
            await _hand_back(connection, [row for row in rows if row.id not in planned.idle])
    return len(rows)


async def _hand_back(connection: AsyncConnection[Any], rows: Sequence[ClaimedExecution]) -> None:
    for partition, some in by_partition(rows).items():
        await executions.release(connection, partition, Group.of(some))
        first = Instant(min(row.fire_at for row in some))
        await connection.execute(statement("pull/tell_waiting"), {"partition": partition, "fire_at": first})


async def reap(connection: AsyncConnection[Any], partitions: Sequence[int], *, depth: int, ended_by: float) -> int:
    """Takes back what no worker has in hand and whose lease had run out by a moment of the database, as far as the
    first depth due rows tell."""
    named = {"partitions": list(partitions), "depth": depth, "ended_by": ended_by}
    return sum(await column(connection, "pull/reap_in_hand", **named))


async def held_clients(connection: AsyncConnection[Any]) -> list[str]:
    """The clients that are held."""
    return await column(connection, "pull/held_clients")


async def let_held(
    connection: AsyncConnection[Any], partitions: Sequence[int], gates: Sequence[str], *, most: int
) -> int:
    """Lets go on what was set aside in these partitions behind these gates, no more than ``most``; returns how many."""
    text = statement_among("pull/let_held", tuple(partitions))
    return (await connection.execute(text, {"gates": list(gates), "most": most})).rowcount
