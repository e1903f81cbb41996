"""What workers do for pulled queues. SQL hands executions to consumers, but cannot plan a job's next row.

As in any queue, a worker claims a job's row a moment before its instant. The claim plans the row's successor, and
records the instants that are skipped. Rows that run are handed back in the same transaction, so that consumers can
claim them.
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
    """Returns the first partitions of pulled queues, or none if this is not the first of the running workers."""
    return await column(connection, "pull/pulled_queues", worker=worker)


async def pass_on(connection: Connection, lease: Lease, queue: int, *, low: int, batch: int, now: int) -> Claimed:
    """Claims planned rows of the queue with this first partition, plans their successors, and hands the rows to
    consumers. Claims at most ``batch`` rows in each partition, and none that were due before ``low`` (wire count).
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
    """Searches the first ``depth`` due rows for those that no worker holds and whose lease had expired by ``ended_by``
    (database time), and takes them back.
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
