"""What becomes of a row for whose sake a batch failed: it is held, with the reason, until its owner deals with it.

Its owner frees it: a one-shot by another instant, a job by an edit or by resuming it; or cancels it.
"""

from typing import Any, Literal, NamedTuple
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from pgsched.store.core.culprits import is_a_lock, is_of_a_row, reason_of
from pgsched.store.core.sql import statement_in

Disposal = Literal["held", "failed", "gone", "left"]


class SetAside(NamedTuple):
    """A row that was put away: ``held``; or ended as ``failed``, since it could not be held; ``gone`` where another was
    quicker; or ``left`` where it stands, since the database refuses whatever is done to it."""

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
    """Puts a row away; ``token`` is that of its lease, None for one that waits. ``before`` goes before the reason.

    Raises what is no row's fault, and what says that somebody holds the row.
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
