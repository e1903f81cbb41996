"""That an attempt has begun, where it is the only one: known to whoever takes the row back from a lost worker."""

from collections import defaultdict
from collections.abc import Sequence

from pgsched.domain.execution import Execution
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_in
from pgsched.store.live.executions import Group


async def note(connection: Connection, rows: Sequence[Execution], *, begun: bool) -> set[bytes]:
    """Notes of these rows that they have begun, or that they have not after all; the ids of those for which that is
    committed. The others are not leased under their tokens any more, or somebody has them locked."""
    groups: dict[int, Group] = defaultdict(lambda: Group([], []))
    for row in rows:
        groups[row.partition].ids.append(row.id)
        groups[row.partition].tokens.append(row.token)
    async with connection.pipeline():
        cursors = [
            await connection.execute(
                statement_in("live/begin", partition), {**group.parameters(), "begun": begun}, binary=True
            )
            for partition, group in groups.items()
        ]
    return {id for cursor in cursors for (id,) in await cursor.fetchall()}
