"""Statements that a worker sends from another thread while its event loop is blocked."""

from collections.abc import Iterable

from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.wake_notice import CHANNEL
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement, statement_in
from pgsched.store.core.wire import UNIX_TO_WIRE
from pgsched.store.live.executions import Group

_AT_ONCE = 16
"""Number of partitions that fit into one notification (``domain.wake_notice.MOST_ROWS``)."""


async def end_own_transactions(connection: Connection, instance: str) -> None:
    """Ends this worker's sessions that are in the middle of a transaction."""
    await connection.execute(statement("live/end_own_transactions"), {"instance": instance})


async def announce(connection: Connection, rows: Iterable[ClaimedExecution]) -> None:
    """Notifies the workers that these rows are waiting again."""
    earliest: dict[int, int] = {}
    for row in rows:
        earliest[row.partition] = min(row.fire_at, earliest.get(row.partition, row.fire_at))
    items = [f"{partition}@{instant + UNIX_TO_WIRE}" for partition, instant in earliest.items()]
    for first in range(0, len(items), _AT_ONCE):
        said = ",".join(items[first : first + _AT_ONCE])
        await connection.execute(statement("core/notify"), {"channel": CHANNEL, "said": said})


async def mark_for_isolation(connection: Connection, row: ClaimedExecution) -> None:
    """Marks the execution to run in isolation once this worker has lost it."""
    await connection.execute(statement_in("live/mark_for_isolation", row.partition), Group.of([row]).parameters())
