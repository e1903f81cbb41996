"""What workers do for pulled queues: SQL hands their executions to consumers, but cannot plan a job's next row.

A job's row is claimed a moment before its instant, as in any queue: the claim plans its successor and accounts for
instants that do not run. Rows that run are handed back in the same transaction, so that consumers can claim them.
"""

from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.domain.queue_partitions import partitions_of
from pgsched.store.core.connect import Connection
from pgsched.store.core.culprits import is_of_a_row
from pgsched.store.core.query import column
from pgsched.store.core.sql import statement, statement_among
from pgsched.store.core.wire import Instant
from pgsched.store.live import executions
from pgsched.store.live.claim_culprits import claim_despite
from pgsched.store.live.executions import Claimed, Group, Lease, PartitionShare
from pgsched.store.live.row_filter_and_next_due import RowFilter

_PLANNED = RowFilter(planned=True)


async def queues(connection: AsyncConnection[Any], *, worker: int) -> list[int]:
    """Returns the first partitions of pulled queues if this is the first of the running workers, otherwise an empty
    list.
    """
    return await column(connection, "pull/pulled_queues", worker=worker)


async def pass_on(connection: Connection, lease: Lease, queue: int, *, low: int, batch: int, now: int) -> Claimed:
    """Claims the planned rows of a queue, given by its first partition, that are due from ``low`` on (wire count).
    Claims at most ``batch`` rows in each partition, plans their successors, and hands the rows to the consumers.
    """
    shares = [PartitionShare(partition, low, batch) for partition in partitions_of(queue)]
    asked: Any = {"now": now, "admit": _hand_back, "row_filter": _PLANNED}
    try:
        return await executions.claim(connection, lease, shares, **asked)
    except Exception as error:
        if not is_of_a_row(error):
            raise
        return await claim_despite(error, connection, lease, shares, **asked)


async def _hand_back(connection: Connection, rows: list[ClaimedExecution]) -> list[ClaimedExecution]:
    """Hands all rows to the consumers, because none of them runs on a worker."""
    for partition, some in by_partition(rows).items():
        await executions.release(connection, partition, Group.of(some))
        first = Instant(min(row.fire_at for row in some))
        await connection.execute(statement("pull/tell_waiting"), {"partition": partition, "fire_at": first})
    return []


async def reap(connection: AsyncConnection[Any], partitions: Sequence[int], *, depth: int, ended_by: float) -> int:
    """Takes back rows that no worker holds and whose lease had expired by ``ended_by`` (database time), among the first
    ``depth`` due rows.
    """
    named = {"partitions": list(partitions), "depth": depth, "ended_by": ended_by}
    return sum(await column(connection, "pull/reap_in_hand", **named))


async def held_clients(connection: AsyncConnection[Any]) -> list[str]:
    """Returns the clients that are on hold."""
    return await column(connection, "pull/held_clients")


async def let_held(
    connection: AsyncConnection[Any], partitions: Sequence[int], gates: Sequence[str], *, most: int
) -> int:
    """Releases up to ``most`` rows of these partitions that wait behind these gates. Returns how many."""
    text = statement_among("pull/let_held", tuple(partitions))
    return (await connection.execute(text, {"gates": list(gates), "most": most})).rowcount
