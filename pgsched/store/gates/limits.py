"""Reads limits."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import one, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """A limit for a client, a host, a queue, or a key that a client's executions name."""

    kind: str
    name: str
    rate: int | None
    per: timedelta | None
    burst: int | None
    concurrency: int | None
    updated_at: datetime


async def all_limits(
    connection: AsyncConnection[Any], *, limit: int, after: str | None = None, kind: str | None = None
) -> list[LimitRow]:
    """Returns up to ``limit`` limits in order of kind and name, beginning after ``after``, which is ``kind:name``."""
    return await rows(connection, LimitRow, "gates/limits", kind=kind, name=None, after=after, limit=limit)


async def get_limit(connection: AsyncConnection[Any], kind: str, name: str) -> LimitRow:
    """Returns the limit. Raises NotFound if there is no such limit."""
    missing = f"no limit is set for the {kind[:20]} {name[:100]!r}"
    return await one(connection, LimitRow, "gates/limits", missing, kind=kind, name=name, after=None, limit=1)
