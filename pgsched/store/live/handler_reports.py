"""What handlers say while they run: how far they are, and what a later attempt goes on from."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.domain.json_values import decode_json
from pgsched.store.core.sql import statement


class HandlerReport(NamedTuple):
    """What was said of a leased row since the last time; None is nothing. ``checkpoint`` is JSON text."""

    id: UUID
    token: int
    fraction: float | None = None
    note: str | None = None
    checkpoint: str | None = None


async def keep(connection: AsyncConnection[Any], reports: Sequence[HandlerReport]) -> set[UUID]:
    """The ids of the rows whose reports were taken. The others are not leased under their tokens any more."""
    names = ("ids", "tokens", "fractions", "notes", "checkpoints")
    columns = zip(*reports, strict=True)
    given = {name: list(column) for name, column in zip(names, columns, strict=True)}
    cursor = await connection.execute(statement("live/report"), given)
    return {id for (id,) in await cursor.fetchall()}


async def checkpoint_of(connection: AsyncConnection[Any], execution: UUID) -> Any:
    """The last checkpoint of an execution, None where there is none."""
    cursor = await connection.execute(statement("live/checkpoint"), {"execution": execution})
    row = await cursor.fetchone()
    return None if row is None or row[0] is None else decode_json(row[0])
