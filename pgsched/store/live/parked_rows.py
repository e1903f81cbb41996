"""Parks a row that made a batch fail: it is held, with the reason, until its owner cancels it, reschedules it or, if it
belongs to a job, edits or resumes the job.
"""

from typing import Any, Literal, NamedTuple
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from pgsched.store.core.culprits import is_a_lock, is_of_a_row, reason_of
from pgsched.store.core.sql import statement_in

Disposal = Literal["held", "failed", "gone", "left"]


class SetAside(NamedTuple):
    """A row that was set aside: ``held``; ended as ``failed``, because it could not be held; ``gone``, because another
    session dealt with it first; or ``left`` alone, because the database refuses every change to it.
    """

    id: bytes
    partition: int
    how: Disposal
    reason: str


async def park(
    connection: AsyncConnection[Any],
    partition: int,
    id: bytes,
    error: Exception,
    *,
    token: int | None = None,
    with_job: bool = True,
    before: str = "",
) -> SetAside:
    """Parks a row. ``token`` is the token of the row's lease, or None if the row is waiting. ``before`` is a prefix for
    the reason.

    Raises errors that no row can cause, and the lock error if another session has locked the row.
    """
    reason = before + reason_of(error)
    parameters = {"id": UUID(bytes=id), "token": token, "reason": reason, "with_job": with_job}
    ways: tuple[tuple[Literal["live/set_aside", "live/bury"], Disposal], ...] = (
        ("live/set_aside", "held"),
        ("live/bury", "failed"),
    )
    for name, how in ways:
        try:
            async with connection.transaction():
                cursor = await connection.execute(statement_in(name, partition), parameters)
                return SetAside(id, partition, how if cursor.rowcount else "gone", reason)
        except psycopg.Error as refused:
            if is_a_lock(refused) or not is_of_a_row(refused):
                raise
    return SetAside(id, partition, "left", reason)
