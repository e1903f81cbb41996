"""What a worker reads and records when it starts claimed rows."""

from collections.abc import Sequence

from pgsched.domain.execution import ClaimedExecution, by_partition
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement_in
from pgsched.store.live.executions import Answer, Group


async def note(connection: Connection, rows: Sequence[ClaimedExecution], *, begun: bool) -> set[bytes]:
    """Records that these rows, which may have only one attempt, have begun or, if ``begun`` is False, have not begun
    after all. A worker that takes rows back from a lost worker relies on this. Returns the ids of the rows that were
    updated. All other rows are no longer leased under their tokens, or are locked by another session.
    """
    cursors = await _send(connection, "live/record_start", rows, begun=begun)
    return {id for cursor in cursors for (id,) in await cursor.fetchall()}


async def bring_payloads(connection: Connection, rows: Sequence[ClaimedExecution]) -> dict[bytes, bytes | None]:
    """Returns, by row id, the payloads that the claim left out to save memory.

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
