"""The commands' way to the database: one connection, one transaction, and every error as one of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import psycopg
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Select
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from pgsched.errors import (
    InvalidInput,
    NotFound,
    PgschedError,
    Refused,
    SchemaMismatch,
    Unavailable,
    error_for_sqlstate,
)
from pgsched.settings import Settings

Connection: TypeAlias = psycopg.Connection[DictRow]
_DIALECT = cast(Any, PGDialect_psycopg)()  # its constructor has no annotations
_NOT_MIGRATED = {"3F000", "42P01", "42883"}
_DATA, _CONSTRAINT = "22", "23"


@contextmanager
def connected(settings: Settings) -> Iterator[Connection]:
    """A connection whose transaction is committed when the block ends well; rows are dicts.

    Raises Unavailable, SchemaMismatch, and what the database refused as the error it stands for.
    """
    assert settings.database_url is not None
    with explained(), psycopg.connect(settings.database_url, connect_timeout=10, row_factory=dict_row) as connection:
        yield connection


@contextmanager
def explained() -> Iterator[None]:
    """Lets psycopg's errors out as ours, with a message for whoever typed the command."""
    try:
        yield
    except psycopg.Error as error:
        raise _translated(error) from error


def fetch(connection: Connection, query: Select[Any]) -> list[DictRow]:
    """The rows of a listing."""
    compiled = query.compile(dialect=_DIALECT)
    return connection.execute(str(compiled).encode(), compiled.params).fetchall()


def fetch_one(connection: Connection, query: Select[Any], missing: str) -> DictRow:
    """The one row of a listing by identity. Raises NotFound with ``missing``."""
    rows = fetch(connection, query)
    if not rows:
        raise NotFound(missing)
    return rows[0]


def _translated(error: psycopg.Error) -> PgschedError:
    state = error.sqlstate
    if state is None or state.startswith(("08", "57P", "53", "28", "3D")):
        return Unavailable(f"cannot reach the database: {_first_line(error)}")
    message = _explained(error)
    if ours := error_for_sqlstate(state):
        return ours(message)
    if state in _NOT_MIGRATED:
        return SchemaMismatch("the database has no pgsched schema of this release: run pgsched migrate")
    if state == "42501":
        return Refused(f"{message}; connect as a role that may, such as a member of pgsched_client")
    if state.startswith((_DATA, _CONSTRAINT)):
        return InvalidInput(message)
    return PgschedError(message)


def _explained(error: psycopg.Error) -> str:
    diagnostic = error.diag
    parts = [diagnostic.message_primary or _first_line(error), diagnostic.message_hint]
    return ": ".join(part for part in parts if part)


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or ["it gave no reason"])[0]
