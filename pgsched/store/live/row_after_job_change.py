"""A row in hand that has not begun, and whose job may have been changed since it was planned."""

from enum import StrEnum
from uuid import UUID

from pgsched.domain.execution import ClaimedExecution
from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection


class Recall(StrEnum):
    """``KEPT`` where the row is as it was; ``GONE`` where it is not this worker's any more; ``LOCKED`` where somebody
    has the job locked, so that nothing can be said yet."""

    KEPT = "kept"
    GONE = "gone"
    LOCKED = "locked"


async def recall(connection: Connection, row: ClaimedExecution) -> Recall:
    """Has a row that has not begun follow its job, if that was edited, paused or cancelled since the row was
    planned."""
    return Recall(await internal_verbs.recall(connection, row.partition, UUID(bytes=row.id), row.token))
