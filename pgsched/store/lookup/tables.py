"""What the tables of pgsched take, as the server's catalogues and statistics tell; no table is read for it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection

from pgsched.store.core.query import first, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """A table with its partitions or days: the bytes of its rows and of its indexes when they were last cleaned or
    analysed, its rows as the server estimates them, and when any of it was cleaned last."""

    name: str
    parts: int
    heap: int
    indexes: int
    live: int
    dead: int
    cleaned_at: datetime | None


async def table_sizes(connection: AsyncConnection[Any], *, most: int) -> list[TableSize]:
    """The largest first."""
    return await rows(connection, TableSize, "lookup/table_sizes", most=most)


async def days_ahead(connection: AsyncConnection[Any]) -> tuple[int, str]:
    """For how many days from today on there are partitions, and of which table for the fewest."""
    found = await first(connection, "doctor/days_ahead") or (0, "history")
    return int(found[0]), str(found[1])
