"""Caches the SQL texts of look-ups; queries that differ only in their values share one.

Building and compiling a page's query takes the API ten times as long as sending it, and many requests for pages would
keep all others waiting for that.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Compiled

from pgsched.store.lookup.labelled import json_of
from pgsched.store.lookup.rows import DeadLetterFilter, ExecutionFilter, JobFilter

Filter = ExecutionFilter | DeadLetterFilter | JobFilter
Build = Callable[..., sa.Select[Any] | None]
"""What puts a query together for a filter, and keywords."""
_dialect = postgresql.psycopg.dialect()  # type: ignore[no-untyped-call]
_MOST_KEPT = 1024
_TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    **dict.fromkeys(("client", "queue", "key", "target", "host", "reason", "labels"), sa.String()),
    **dict.fromkeys(("id", "job", "after", "reach"), sa.Uuid()),
    **dict.fromkeys(("start", "end"), sa.DateTime(timezone=True)),
    "limit": sa.Integer(),
    "status_code": sa.SmallInteger(),
}


class Query(NamedTuple):
    """What is sent."""

    text: bytes
    parameters: dict[str, Any]


def written(query: sa.Select[Any]) -> Query:
    """One that is put together for this once."""
    return _with(query.compile(dialect=_dialect), {})


def one_of(select: Callable[[Any], sa.Select[Any]], id: UUID) -> Query:
    """What selects a single row by its id."""
    return _with(_one(select), {"id": id})


def asked(build: Build, wanted: Filter, *, fixed: tuple[str, ...] = (), **others: Any) -> Query | None:
    """What is put together for a filter and others. Each of the values that are ``fixed`` has a text of its own: those
    are named that say what is asked, and not of whom."""
    fields = {name: getattr(wanted, name) for name in wanted.__dataclass_fields__}
    if fields["labels"] is not None:
        fields["labels"] = json_of(fields["labels"])
    everything = {**fields, **others}
    kept = tuple((name, everything[name]) for name in fixed)
    values = {name: value for name, value in everything.items() if value is not None and name not in fixed}
    kind: Any = type(wanted)
    compiled = _text(build, kind, tuple(others), kept, frozenset(values))
    return None if compiled is None else _with(compiled, values)


def page(build: Build, wanted: Filter, *, fixed: tuple[str, ...] = (), **others: Any) -> Query:
    """The same of what is put together for any filter."""
    query = asked(build, wanted, fixed=fixed, **others)
    assert query is not None
    return query


def _with(compiled: Compiled, values: dict[str, Any]) -> Query:
    return Query(str(compiled).encode(), dict(compiled.construct_params(values) or {}))


def _place(name: str) -> Any:
    return sa.bindparam(name, type_=_TYPES[name])


@lru_cache(maxsize=_MOST_KEPT)
def _one(select: Callable[[Any], sa.Select[Any]]) -> Compiled:
    return select(_place("id")).compile(dialect=_dialect)


@lru_cache(maxsize=_MOST_KEPT)
def _text(
    build: Build, kind: type[Filter], others: tuple[str, ...], kept: tuple[tuple[str, Any], ...], given: frozenset[str]
) -> Compiled | None:
    places: dict[str, Any] = dict(kept) | {name: _place(name) for name in given}
    fields: dict[str, Any] = {name: places.get(name) for name in kind.__dataclass_fields__}
    wanted = kind(**fields)
    query = build(wanted, **{name: places.get(name) for name in others})
    return None if query is None else query.compile(dialect=_dialect)
