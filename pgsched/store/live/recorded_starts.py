"""What a worker reads and notes when it starts claimed rows."""

from collections.abc import Sequence

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_in
from pgsched.store.live.executions import Answer, Group


async def note(connection: Connection, rows: Sequence[ClaimedExecution], *, begun: bool) -> set[bytes]:
    """Notes that these rows, which may have one attempt only, have begun, or that they have not after all, for whoever
    takes them back from a lost worker.

    Returns the ids of those for which that is committed. The others are not leased under their tokens any more, or
    somebody has them locked."""
    cursors = await _send(connection, "live/begin", rows, begun=begun)
    return {id for cursor in cursors for (id,) in await cursor.fetchall()}


async def bring_payloads(connection: Connection, rows: Sequence[ClaimedExecution]) -> dict[bytes, bytes | None]:
    """The payloads that the claim kept back, so that few are in memory at a time, by the ids of their rows.

    Rows without an entry are not leased under their tokens any more."""
    cursors = await _send(connection, "live/bring_payloads", rows)
    return {id: payload for cursor in cursors for id, payload in await cursor.fetchall()}


async def _send(connection: Connection, name: str, rows: Sequence[ClaimedExecution], **others: bool) -> list[Answer]:
    async with connection.pipeline():
        return [
            await connection.execute(
                statement_in(name, partition), {**Group.of(some).parameters(), **others}, binary=True
            )
            for partition, some in by_partition(rows).items()
        ]
