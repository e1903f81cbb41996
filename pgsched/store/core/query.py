"""Sends a statement by its name, and reads its answer: one value, a column, or rows as objects.

Instants are read in UTC, and JSON digit for digit. Each function makes a cursor of its own, so that it does not matter
how the caller's connection reads rows; and raises InvalidInput for text that PostgreSQL cannot store.
"""

from typing import Any, TypeVar

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import AsyncRowFactory, class_row, tuple_row

from pgsched.errors import NotFound
from pgsched.store.core.exact import read_exactly
from pgsched.store.core.sql import statement, statement_with
from pgsched.store.core.text import check_texts

Row = TypeVar("Row")


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
