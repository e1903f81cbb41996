"""Counts the executions that wait in queues that have a maximum."""

from typing import NamedTuple

from pgsched.domain.queue_partitions import partitions_from
from pgsched.store.core.connect import Connection
from pgsched.store.core.query import rows
from pgsched.store.core.sql import statement, statement_over


class Bounded(NamedTuple):
    """A queue with a maximum; ``full`` is the last recorded state."""

    name: str
    first_partition: int
    max_waiting: int
    full: bool


async def bounded_queues(connection: Connection, worker: int) -> list[Bounded]:
    """Returns the queues that this worker must count: all with a maximum, or none if another worker counts them."""
    return await rows(connection, Bounded, "gates/bounded_queues", worker=worker)


async def count(connection: Connection, queue: Bounded) -> int:
    """Returns how many executions wait in the queue; a lower bound if the number exceeds the queue's maximum."""
    partitions = tuple(partitions_from([queue.first_partition]))
    cursor = await connection.execute(statement_over("gates/count_waiting", partitions), {"most": queue.max_waiting})
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def note(connection: Connection, queue: Bounded, *, full: bool) -> bool:
    """Records whether the queue is full. Returns False if this was already recorded, or if the queue's maximum has
    changed.
    """
    parameters = {"name": queue.name, "maximum": queue.max_waiting, "full": full}
    return (await connection.execute(statement("gates/note_full"), parameters)).rowcount == 1
