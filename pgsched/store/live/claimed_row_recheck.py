"""Rechecks a claimed row that has not begun, because its job may have changed since the row was planned."""

from enum import StrEnum
from uuid import UUID

from pgsched.domain.execution import ClaimedExecution
from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection


class Recall(StrEnum):
    """``KEPT``: the row is unchanged. ``GONE``: the row is no longer this worker's. ``LOCKED``: the answer is not known
    yet, because the row or its job is locked.
    """

    KEPT = "kept"
    GONE = "gone"
    LOCKED = "locked"


async def recall(connection: Connection, row: ClaimedExecution) -> Recall:
    """Brings a row that has not begun in line with its job, if the job was edited, paused or cancelled after the row
    was planned.
    """
    return Recall(await internal_verbs.recall(connection, row.partition, UUID(bytes=row.id), row.token))
