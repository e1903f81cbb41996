"""Limits, as Python reads and sets them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.rows import class_row

from pgsched.errors import NotFound
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.sql import statement
from pgsched.store.schedule.calls import value
from pgsched.store.schedule.order import check_text

KINDS = ("client", "host", "queue", "key")
_SET: LiteralString = """
select pgsched.set_limit(%(kind)s, %(name)s, rate => %(rate)s::int, per => %(per)s::interval, burst => %(burst)s::int,
                         concurrency => %(concurrency)s::int, actor => %(actor)s::text)
"""
_DROP: LiteralString = "select pgsched.drop_limit(%(kind)s, %(name)s, %(actor)s::text)"


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
    connection: AsyncConnection[Any],
    *,
    limit: int,
    after: str | None = None,
    kind: str | None = None,
    name: str | None = None,
) -> list[LimitRow]:
    """At most ``limit`` of them in the order of kind and name, those behind ``after``, which is ``kind:name``."""
    for word, text in (("after", after), ("kind", kind), ("name", name)):
        check_text(word, text)
    parameters = {"kind": kind, "name": name, "after": after, "limit": limit}
    async with connection.cursor(row_factory=class_row(LimitRow)) as cursor:
        read_exactly(cursor)
        await cursor.execute(statement("gates/limits"), parameters)
        return await cursor.fetchall()


async def get_limit(connection: AsyncConnection[Any], kind: str, name: str) -> LimitRow:
    """Raises NotFound."""
    asked = name.lower() if kind == "host" else name
    found = await all_limits(connection, limit=1, kind=kind, name=asked)
    if not found:
        raise NotFound(f"there is no limit for the {kind[:20]} {name[:100]!r}")
    return found[0]


async def set_limit(
    connection: AsyncConnection[Any], kind: str, name: str, amount: Amount, *, actor: str | None
) -> bool:
    """Takes the place of the limit there was; whether anything is different now. Raises InvalidInput, NotFound."""
    check_text("name", name)
    given = {"rate": amount.rate, "per": amount.per, "burst": amount.burst, "concurrency": amount.concurrency}
    return bool(await value(connection, _SET, kind=kind, name=name, actor=actor, **given))


async def drop_limit(connection: AsyncConnection[Any], kind: str, name: str, *, actor: str | None) -> bool:
    check_text("name", name)
    return bool(await value(connection, _DROP, kind=kind, name=name, actor=actor))
