"""Builds and sends the queries of listings.

A listing is a statement with a clause of ``core/clauses.sql`` for each condition of its filter. A condition consists of
the name of its clause, which is also the name of the clause's parameter, and a value.
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
    """Whether the newest or the oldest rows come first; ids are chronological. A page begins after the id ``after`` and
    ends at the id ``reach``.
    """

    NEWEST = "newest"
    OLDEST = "oldest"

    @property
    def direction(self) -> LiteralString:
        """The sort direction of ids in a statement."""
        return " desc" if self is SortOrder.NEWEST else ""

    def between(self, after: Any, reach: UUID | None = None) -> dict[str, Any]:
        """Returns the conditions for rows after the id ``after``, up to the id ``reach``."""
        behind, up_to = ("below", "down_to") if self is SortOrder.NEWEST else ("above", "up_to")
        return given({behind: after, up_to: reach})


class Query(NamedTuple):
    """A statement and its parameters."""

    text: str
    parameters: Mapping[str, Any]


def given(conditions: Conditions) -> dict[str, Any]:
    """Returns the conditions that have a value. Labels become JSON."""
    found = {name: value for name, value in conditions.items() if value is not None}
    return found | {"labels": orjson.dumps(dict(found["labels"])).decode()} if "labels" in found else found


def query(name: str, conditions: Conditions, /, order: SortOrder = SortOrder.NEWEST, **others: Any) -> Query:
    """Returns a statement with these conditions and further parameters."""
    return Query(text(name, conditions, order), conditions | others)


def text(name: str, conditions: Conditions, order: SortOrder = SortOrder.NEWEST) -> str:
    """Returns the text of a statement with these conditions."""
    return statement_with(name, tuple(conditions), order.direction)


async def found(connection: AsyncConnection[Any], row: type[_Row], query: Query) -> list[_Row]:
    """Returns the rows of a query as objects of this kind."""
    async with reading(connection, class_row(row)) as cursor:
        await _send(cursor, query)
        return await cursor.fetchall()


async def found_value(connection: AsyncConnection[Any], query: Query | None) -> Any:
    """Returns the first value of a query, or None if there is no row or no query."""
    if query is None:
        return None
    async with reading(connection, scalar_row) as cursor:
        await _send(cursor, query)
        return await cursor.fetchone()


async def _send(cursor: AsyncCursor[Any], query: Query) -> None:
    check_texts(query.parameters)
    await cursor.execute(query.text.encode(), query.parameters)
