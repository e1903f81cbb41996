"""A row in hand that has not begun, and whose job may have been changed since it was planned."""

from enum import StrEnum

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import Tokens, Uuids


class Recall(StrEnum):
    """``KEPT`` where the row is as it was; ``GONE`` where it is not this worker's any more; ``LOCKED`` where somebody
    has the job locked, so that nothing can be said yet."""

    KEPT = "kept"
    GONE = "gone"
    LOCKED = "locked"


async def recall(connection: Connection, row: ClaimedExecution) -> Recall:
    """Has a row that has not begun follow its job, if that was edited, paused or cancelled since the row was
    planned."""
    parameters = {"partition": row.partition, "ids": Uuids([row.id]), "tokens": Tokens([row.token])}
    cursor = await connection.execute(statement("live/recall"), parameters)
    [(found,)] = await cursor.fetchall()
    return Recall(found)
