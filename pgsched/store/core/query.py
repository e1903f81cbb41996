"""Runs a statement by its name, and reads the result: one value, a column, or rows as objects.

Instants are read in UTC, and JSON exactly as stored. Each function opens its own cursor, so the connection's row
factory does not matter. Each raises InvalidInput for text that PostgreSQL cannot store.
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
    """Reads an instant in UTC. Infinity becomes None; an instant outside Python's range becomes the earliest or latest
    datetime.
    """

    def load(self, data: Buffer) -> datetime | None:  # type: ignore[override]
        text = bytes(data)
        if text.endswith(b"infinity"):
            return None
        try:
            return super().load(data).astimezone(UTC)
        except (DataError, OverflowError):
            return (datetime.min if text.endswith(b"BC") else datetime.max).replace(tzinfo=UTC)


class _Json(Loader):
    """Reads JSON exactly as stored."""

    def load(self, data: Buffer) -> msgspec.Raw:
        return msgspec.Raw(bytes(data))


async def first(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> tuple[Any, ...] | None:
    """Returns the first row, or None if there is none."""
    async with reading(connection, tuple_row) as cursor:
        await _send(cursor, name, parameters)
        return await cursor.fetchone()


async def value(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> Any:
    """Returns the first value of the first row, or None if there is no row."""
    row = await first(connection, name, **parameters)
    return row[0] if row else None


async def column(connection: AsyncConnection[Any], name: str, /, **parameters: Any) -> list[Any]:
    """Returns the first value of every row."""
    async with reading(connection, tuple_row) as cursor:
        await _send(cursor, name, parameters)
        return [row[0] for row in await cursor.fetchall()]


async def rows(
    connection: AsyncConnection[Any], kind: type[Row], name: str, /, *clauses: str, **parameters: Any
) -> list[Row]:
    """Returns every row as an object of this class. ``clauses`` are added to the statement."""
    async with reading(connection, class_row(kind)) as cursor:
        await _send(cursor, name, parameters, clauses)
        return await cursor.fetchall()


async def one(
    connection: AsyncConnection[Any], kind: type[Row], name: str, missing: str, /, *clauses: str, **parameters: Any
) -> Row:
    """Returns the first row as an object of this class. Raises NotFound with the text ``missing`` if there is no
    row."""
    found = await rows(connection, kind, name, *clauses, **parameters)
    if not found:
        raise NotFound(missing)
    return found[0]


async def _send(cursor: AsyncCursor[Any], name: str, parameters: dict[str, Any], clauses: tuple[str, ...] = ()) -> None:
    check_texts(parameters)
    await cursor.execute(statement_with(name, clauses) if clauses else statement(name), parameters)


def reading(connection: AsyncConnection[Any], factory: AsyncRowFactory[Row]) -> AsyncCursor[Row]:
    """Returns a cursor that reads instants in UTC, and JSON exactly as stored."""
    cursor = connection.cursor(row_factory=factory)
    read_exactly(cursor)
    return cursor


def read_exactly(reader: AsyncConnection[Any] | AsyncCursor[Any]) -> None:
    """Makes a connection or cursor return instants in UTC, and JSON as text."""
    if reader.adapters.get_loader(_TIMESTAMPTZ, Format.TEXT) is not _Instant:  # a cursor may have inherited the loader
        reader.adapters.register_loader("timestamptz", _Instant)
        reader.adapters.register_loader("jsonb", _Json)
