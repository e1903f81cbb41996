"""Finds out which rows can be locked and settled at once when another session has locked some of them."""

from collections.abc import Iterable

from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_over
from pgsched.store.core.wire import Uuids
from pgsched.store.live.executions import Groups, over_partitions


async def lock_free(connection: Connection, groups: Groups) -> set[bytes]:
    """Locks a worker's rows until the transaction ends, except those that another session has locked. Returns the ids
    of the locked rows.
    """
    return await _leased(connection, groups, ("free",))


async def still_leased(connection: Connection, groups: Groups) -> set[bytes]:
    """Returns the ids of the rows that are still leased under these tokens, even if they are locked elsewhere."""
    return await _leased(connection, groups)


async def lock_free_jobs(connection: Connection, jobs: Iterable[bytes]) -> set[bytes]:
    """Locks these jobs until the transaction ends, except those that another session has locked. Returns the ids of the
    locked jobs.
    """
    cursor = await connection.execute(statement("live/lock_free_jobs"), {"jobs": Uuids(set(jobs))}, binary=True)
    return {row[0] for row in await cursor.fetchall()}


async def _leased(connection: Connection, groups: Groups, clauses: tuple[str, ...] = ()) -> set[bytes]:
    found: set[bytes] = set()
    for partitions, parameters in over_partitions(groups):
        text = statement_over("live/leased_rows", partitions, clauses)
        cursor = await connection.execute(text, parameters, binary=True)
        found.update([row[0] for row in await cursor.fetchall()])
    return found
