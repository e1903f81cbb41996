"""Sends a statement by its name, and reads its answer: one value, a column, or rows as objects.

Instants are read in UTC, and JSON digit for digit. Each function makes a cursor of its own, so that it does not matter
how the caller's connection reads rows; and raises InvalidInput for text that PostgreSQL cannot store.
"""

from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from psycopg import AsyncConnection, AsyncCursor, DataError, postgres
from psycopg.adapt import Buffer, Loader
from psycopg.pq import Format
from psycopg.rows import AsyncRowFactory, class_row, tuple_row
from psycopg.types.datetime import TimestamptzLoader

from pgsched.errors import NotFound
from pgsched.store.core.sql import statement, statement_with
from pgsched.store.core.text import check_texts

Row = TypeVar("Row")
_TIMESTAMPTZ = postgres.types["timestamptz"].oid


class _Instant(TimestamptzLoader):
    """In UTC; None for infinity; the last or first instant there is for one that Python cannot hold."""

    def load(self, data: Buffer) -> datetime | None:  # type: ignore[override]
        text = bytes(data)
        if text.endswith(b"infinity"):
            return None
        try:
            return super().load(data).astimezone(UTC)
        except (DataError, OverflowError):
            return (datetime.min if text.endswith(b"BC") else datetime.max).replace(tzinfo=UTC)


class _Json(Loader):
    """As it is stored, digit for digit."""

    def load(self, data: Buffer) -> msgspec.Raw:
        return msgspec.Raw(bytes(data))


async def first(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> tuple[Any, ...] | None:
    """The first row; None where there is none."""
    async with reading(connection, tuple_row) as cursor:
        await _send(cursor, name, parameters)
        return await cursor.fetchone()


async def value(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> Any:
    """The first value of the first row; None where there is none."""
    row = await first(connection, name, **parameters)
    return row[0] if row else None


async def column(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> list[Any]:
    """The first value of every row."""
    async with reading(connection, tuple_row) as cursor:
        await _send(cursor, name, parameters)
        return [row[0] for row in await cursor.fetchall()]


async def rows(
    connection: AsyncConnection[Any], kind: type[Row], name: str, /, *clauses: str, **parameters: Any
) -> list[Row]:
    """Every row as an object of this kind; the statement has these of its clauses."""
    async with reading(connection, class_row(kind)) as cursor:
        await _send(cursor, name, parameters, clauses)
        return await cursor.fetchall()


async def one(connection: AsyncConnection[Any], kind: type[Row], name: str, missing: str, /, **parameters: Any) -> Row:
    """The first row as an object of this kind. Raises NotFound, with what is missing, where there is none."""
    found = await rows(connection, kind, name, **parameters)
    if not found:
        raise NotFound(missing)
    return found[0]


async def _send(cursor: AsyncCursor[Any], name: str, parameters: dict[str, Any], clauses: tuple[str, ...] = ()) -> None:
    check_texts(parameters)
    await cursor.execute(statement_with(name, clauses) if clauses else statement(name), parameters)


def reading(connection: AsyncConnection[Any], factory: AsyncRowFactory[Row]) -> AsyncCursor[Row]:
    """A cursor that reads instants in UTC, and JSON digit for digit."""
    cursor = connection.cursor(row_factory=factory)
    read_exactly(cursor)
    return cursor


def read_exactly(reader: AsyncConnection[Any] | AsyncCursor[Any]) -> None:
    """Makes a connection or cursor hand out instants in UTC, and JSON as its text."""
    if reader.adapters.get_loader(_TIMESTAMPTZ, Format.TEXT) is not _Instant:  # else it has that of its connection
        reader.adapters.register_loader("timestamptz", _Instant)
        reader.adapters.register_loader("jsonb", _Json)
