"""What a worker reads and records when it starts claimed rows."""

from collections.abc import Sequence

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_in
from pgsched.store.live.executions import Answer, Group


async def note(connection: Connection, rows: Sequence[ClaimedExecution], *, begun: bool) -> set[bytes]:
    """Records that these rows, which may have only one attempt, have begun, or that they have not after all. A worker
    that takes them back from a lost one relies on it.

    Returns the ids of the rows for which this is committed. The others are no longer leased under their tokens, or
    another session has locked them.
    """
    cursors = await _send(connection, "live/record_start", rows, begun=begun)
    return {id for cursor in cursors for (id,) in await cursor.fetchall()}


async def bring_payloads(connection: Connection, rows: Sequence[ClaimedExecution]) -> dict[bytes, bytes | None]:
    """Returns the payloads that the claim left out, so that few are in memory at a time, by row id.

    Rows without an entry are no longer leased under their tokens.
    """
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
