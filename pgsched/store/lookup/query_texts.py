"""Sends the queries of listings, whose texts are cached; queries that differ only in their values share one.

Building and compiling a page's query takes the API ten times as long as sending it, and many requests for pages would
keep all others waiting for that.
"""

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import class_row, scalar_row
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Compiled

from pgsched.store.core.query import reading
from pgsched.store.core.text import check_texts
from pgsched.store.lookup.clauses import json_of

Build = Callable[..., sa.Select[Any] | None]
"""What puts a query together for a filter, if it has one, and keywords; None where there is nothing to ask."""
_Row = TypeVar("_Row")
_dialect = postgresql.psycopg.dialect()  # type: ignore[no-untyped-call]
_MOST_KEPT = 1024
_FIXED = {"statuses", "state", "share", "order", "contents"}
"""Each value of these has a text of its own: they say what is asked, and not of whom."""
_TYPES: dict[type, sa.types.TypeEngine[Any]] = {
    str: sa.String(),
    int: sa.BigInteger(),
    UUID: sa.Uuid(),
    datetime: sa.DateTime(timezone=True),
}


class Query(NamedTuple):
    """What is sent."""

    text: bytes
    parameters: dict[str, Any]


async def found(
    connection: AsyncConnection[Any], row: type[_Row], build: Build, wanted: Any = None, **others: Any
) -> list[_Row]:
    """What a query finds, as objects of this kind."""
    query = query_of(build, wanted, **others)
    if query is None:
        return []
    async with reading(connection, class_row(row)) as cursor:
        await _send(cursor, query)
        return await cursor.fetchall()


async def found_value(connection: AsyncConnection[Any], build: Build, wanted: Any = None, **others: Any) -> Any:
    """The first value that a query finds; None where it finds none."""
    query = query_of(build, wanted, **others)
    if query is None:
        return None
    async with reading(connection, scalar_row) as cursor:
        await _send(cursor, query)
        return await cursor.fetchone()


async def _send(cursor: AsyncCursor[Any], query: Query) -> None:
    check_texts(query.parameters)
    await cursor.execute(query.text, query.parameters)


def query_of(build: Build, wanted: Any = None, **others: Any) -> Query | None:
    """What is put together for a filter, a dataclass, and others."""
    fields = {} if wanted is None else {name: getattr(wanted, name) for name in wanted.__dataclass_fields__}
    if fields.get("labels") is not None:
        fields["labels"] = json_of(fields["labels"])
    everything = {**fields, **others}
    fixed = tuple((name, value) for name, value in everything.items() if name in _FIXED)
    values = {name: value for name, value in everything.items() if value is not None and name not in _FIXED}
    given = tuple((name, type(value)) for name, value in values.items())
    kind: Any = None if wanted is None else type(wanted)
    compiled = _text(build, kind, tuple(others), fixed, given)
    return None if compiled is None else Query(str(compiled).encode(), dict(compiled.construct_params(values) or {}))


@lru_cache(maxsize=_MOST_KEPT)
def _text(
    build: Build,
    kind: Any,
    others: tuple[str, ...],
    fixed: tuple[tuple[str, Any], ...],
    given: tuple[tuple[str, type], ...],
) -> Compiled | None:
    places: dict[str, Any] = dict(fixed)
    places |= {name: sa.bindparam(name, type_=_TYPES[type_]) for name, type_ in given}
    wanted = () if kind is None else (kind(**{name: places.get(name) for name in kind.__dataclass_fields__}),)
    query = build(*wanted, **{name: places.get(name) for name in others})
    return None if query is None else query.compile(dialect=_dialect)
