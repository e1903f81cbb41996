"""Reads and sets limits."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from psycopg import AsyncConnection

from pgsched.store import verbs
from pgsched.store.core.query import one, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How many may begin in each such time, how many of them at once after a lull, and how many may run at once."""

    rate: int | None = None
    per: timedelta = timedelta(seconds=1)
    burst: int | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRow:
    """A limit of a client, for a host, in a queue or under a key."""

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
    """At most ``limit`` of them in the order of kind and name, those behind ``after``, which is ``kind:name``."""
    return await rows(connection, LimitRow, "gates/limits", kind=kind, name=None, after=after, limit=limit)


async def get_limit(connection: AsyncConnection[Any], kind: str, name: str) -> LimitRow:
    """Raises NotFound."""
    missing = f"there is no limit for the {kind[:20]} {name[:100]!r}"
    return await one(connection, LimitRow, "gates/limits", missing, kind=kind, name=name, after=None, limit=1)


async def set_limit(
    connection: AsyncConnection[Any], kind: str, name: str, amount: Amount, *, actor: str | None
) -> bool:
    """Takes the place of the limit there was; whether anything is different now. Raises InvalidInput, NotFound."""
    return await verbs.set_limit(connection, kind, name, **asdict(amount), actor=actor)
