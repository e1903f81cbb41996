"""Payloads that a claim kept back: a worker reads them when it starts their rows, so that few are in memory at a
time."""

from collections import defaultdict
from collections.abc import Sequence

from pgsched.domain.execution import Execution
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_in
from pgsched.store.live.executions import Group


async def bring(connection: Connection, rows: Sequence[Execution]) -> dict[bytes, bytes | None]:
    """The payloads of these rows, by id; those without an entry are not leased under their tokens any more."""
    groups: dict[int, Group] = defaultdict(lambda: Group([], []))
    for row in rows:
        groups[row.partition].ids.append(row.id)
        groups[row.partition].tokens.append(row.token)
    async with connection.pipeline():
        cursors = [
            await connection.execute(statement_in("live/bring_payloads", partition), group.parameters(), binary=True)
            for partition, group in groups.items()
        ]
    return {id: payload for cursor in cursors for id, payload in await cursor.fetchall()}
