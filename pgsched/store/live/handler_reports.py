"""What handlers report while they run: their progress, and the checkpoint from which a later attempt continues."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.json_values import decode_json
from pgsched.store.core.sql import statement


class HandlerReport(NamedTuple):
    """What a handler has reported for its leased row; None means no change. ``checkpoint`` is JSON text."""

    id: UUID
    token: int
    fraction: float | None = None
    note: str | None = None
    checkpoint: str | None = None


async def keep(connection: AsyncConnection[Any], reports: Sequence[HandlerReport]) -> set[UUID]:
    """Stores reports. Returns the ids of the rows whose reports were accepted; the other rows are no longer leased
    under their tokens.
    """
    names = ("ids", "tokens", "fractions", "notes", "checkpoints")
    columns = zip(*reports, strict=True)
    given = {name: list(column) for name, column in zip(names, columns, strict=True)}
    cursor = await connection.execute(statement("live/report"), given)
    return {id for (id,) in await cursor.fetchall()}


async def checkpoint_of(connection: AsyncConnection[Any], execution: UUID) -> Any:
    """Returns the last checkpoint of an execution, or None."""
    cursor = await connection.execute(statement("live/checkpoint"), {"execution": execution})
    row = await cursor.fetchone()
    return None if row is None or row[0] is None else decode_json(row[0])
