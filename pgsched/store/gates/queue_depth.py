"""How full the queues are that have a maximum."""

from typing import NamedTuple

from pgsched.domain.queue_partitions import partitions_from
from pgsched.store.core.connect import Connection
from pgsched.store.core.query import rows
from pgsched.store.core.sql import statement, statement_over


class Bounded(NamedTuple):
    """A queue with a maximum; ``full`` as it was noted last."""

    name: str
    first_partition: int
    max_waiting: int
    full: bool


async def bounded_queues(connection: Connection, worker: int) -> list[Bounded]:
    """The queues that this worker is to count: all with a maximum, or none where another counts."""
    return await rows(connection, Bounded, "gates/bounded_queues", worker=worker)


async def count(connection: Connection, queue: Bounded) -> int:
    """How many executions wait in it; where there are more than its maximum, at least that."""
    partitions = tuple(partitions_from([queue.first_partition]))
    cursor = await connection.execute(statement_over("gates/level", partitions), {"most": queue.max_waiting})
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def note(connection: Connection, queue: Bounded, *, full: bool) -> bool:
    """Writes down that it is full, or is not any more; False where that is not the question any more."""
    parameters = {"name": queue.name, "maximum": queue.max_waiting, "full": full}
    return (await connection.execute(statement("gates/note_level"), parameters)).rowcount == 1
