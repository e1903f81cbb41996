"""What the queries of listings are put together from, and how they are sent.

A listing is a statement that has a clause of ``core/clauses.sql`` for each condition of its filter. Conditions are
given by the names of their clauses, each with its value, which has the same name in the clause.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, LiteralString, NamedTuple, TypeVar
from uuid import UUID

import orjson
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import class_row, scalar_row

from pgsched.store.core.query import reading
from pgsched.store.core.sql import statement_with
from pgsched.store.core.text import check_texts

Conditions = dict[str, Any]
_Row = TypeVar("_Row")


class SortOrder(StrEnum):
    """Which rows come first: ids are made in the order of time. What a page ends at is ``after`` for the next one, and
    ``reach`` for how far it looks."""

    NEWEST = "newest"
    OLDEST = "oldest"

    @property
    def direction(self) -> LiteralString:
        """What a statement says of the order of ids."""
        return " desc" if self is SortOrder.NEWEST else ""

    def between(self, after: Any, reach: UUID | None = None) -> dict[str, Any]:
        """Those that come after the one with the id ``after``, as far as the one with the id ``reach``."""
        behind, up_to = ("below", "down_to") if self is SortOrder.NEWEST else ("above", "up_to")
        return given({behind: after, up_to: reach})


class Query(NamedTuple):
    """What is sent."""

    text: str
    parameters: Mapping[str, Any]


def given(conditions: Conditions) -> dict[str, Any]:
    """Those of the conditions that have a value; labels as JSON."""
    found = {name: value for name, value in conditions.items() if value is not None}
    return found | {"labels": orjson.dumps(dict(found["labels"])).decode()} if "labels" in found else found


def query(name: str, conditions: Conditions, /, order: SortOrder = SortOrder.NEWEST, **others: Any) -> Query:
    """A statement with these conditions and further parameters."""
    return Query(text(name, conditions, order), conditions | others)


def text(name: str, conditions: Conditions, order: SortOrder = SortOrder.NEWEST) -> str:
    """The text of a statement with these conditions."""
    return statement_with(name, tuple(conditions), order.direction)


async def found(connection: AsyncConnection[Any], row: type[_Row], query: Query) -> list[_Row]:
    """What a query finds, as objects of this kind."""
    async with reading(connection, class_row(row)) as cursor:
        await _send(cursor, query)
        return await cursor.fetchall()


async def found_value(connection: AsyncConnection[Any], query: Query | None) -> Any:
    """The first value that a query finds; None where it finds none, and where there is nothing to ask."""
    if query is None:
        return None
    async with reading(connection, scalar_row) as cursor:
        await _send(cursor, query)
        return await cursor.fetchone()


async def _send(cursor: AsyncCursor[Any], query: Query) -> None:
    check_texts(query.parameters)
    await cursor.execute(query.text.encode(), query.parameters)
