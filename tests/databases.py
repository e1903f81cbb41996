"""Databases that tests borrow one after another.

To make one is to copy a thousand files, and that took longer than most tests. So a database that was given back is
emptied and lent again, unless a test has changed more than rows in it: then it is dropped.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from tests.conftest import Janitor

# All that is made by a migration or by hand: relations, columns, functions and so on, with who may do what to them.
# An identity is the same in every copy of the template; xmin tells of changes where no row is rewritten by a truncate.
_CATALOG = """
select md5(string_agg(part, ' ' order by part)) from (
  select format('class %s %s %s %s %s %s', oid, relname, relowner, relacl, reloptions, relhastriggers)
    from pg_class where oid >= 16384
  union all select format('attribute %s %s %s', attrelid, attnum, xmin) from pg_attribute where attrelid >= 16384
  union all select format('proc %s %s', oid, xmin) from pg_proc where oid >= 16384
  union all select format('trigger %s %s', oid, xmin) from pg_trigger where oid >= 16384
  union all select format('constraint %s %s', oid, xmin) from pg_constraint where oid >= 16384
  union all select format('policy %s %s', oid, xmin) from pg_policy
  union all select format('type %s %s', oid, typname) from pg_type where oid >= 16384
  union all select format('namespace %s %s', oid, nspacl) from pg_namespace
  union all select format('extension %s', extname) from pg_extension
  union all select format('setting %s %s', setrole, setconfig) from pg_db_role_setting s
              join pg_database d on d.oid = s.setdatabase where d.datname = current_database()
  union all select format('statistic %s %s', starelid, staattnum) from pg_statistic where starelid >= 16384
) as found (part)"""
_WRITTEN = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind = 'r' and pg_relation_size(c.oid) > 0"""
_SEQUENCES = """
select setval(s.seqrelid, s.seqstart, false) from pg_sequence s where pg_sequence_last_value(s.seqrelid) is not null"""
_OTHERS = """
select pg_terminate_backend(pid) from pg_stat_activity
 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What a fresh copy is like: its catalog, and the rows of the tables that have any."""

    catalog: str
    rows: dict[str, bytes]


class Databases:
    """The databases of one server, all copies of one template."""

    def __init__(self, janitor: "Janitor", template: str) -> None:
        self._janitor, self._template = janitor, template
        self._idle: list[Any] = []
        self._beginning: _Beginning | None = None

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The address of one that is as fresh as the template."""
        database = self._idle.pop() if self._idle else self._made()
        url = self._janitor.url_of(database.dbname)
        try:
            yield url
        finally:
            if self._is_emptied(url):
                self._idle.append(database)
            else:
                database.drop()

    def close(self) -> None:
        for database in self._idle:
            database.drop()

    def _made(self) -> Any:
        database = self._janitor.make(f"test_{secrets.token_hex(6)}", template=self._template)
        database.init()
        if self._beginning is None:
            with psycopg.connect(self._janitor.url_of(database.dbname)) as connection:
                self._beginning = _Beginning(_catalog(connection), _rows(connection))
        return database

    def _is_emptied(self, url: str) -> bool:
        """Whether it could be put back to the beginning."""
        assert self._beginning is not None
        try:
            with psycopg.connect(url) as connection:
                connection.execute("set lock_timeout = '5s'; set session_replication_role = replica")
                connection.execute(_OTHERS)
                if _catalog(connection) != self._beginning.catalog:
                    return False
                _empty(connection, self._beginning.rows)
        except psycopg.Error:
            return False
        return True


@contextmanager
def lending(janitor: "Janitor", template: str) -> Iterator[Databases]:
    """Copies of this template, which are dropped at the end."""
    databases = Databases(janitor, template)
    try:
        yield databases
    finally:
        databases.close()


@contextmanager
def lending_with(statement: str, name: str, *, janitor: "Janitor", template: str) -> Iterator[Databases]:
    """The same of a template of this name, which is the given one after a statement."""
    with janitor.make(name, template=template, as_template=True):
        with psycopg.connect(janitor.url_of(name)) as connection:
            connection.execute(statement.encode())
        with lending(janitor, name) as databases:
            yield databases


def _catalog(connection: psycopg.Connection[Any]) -> str:
    [found] = connection.execute(_CATALOG.encode()).fetchone() or ("",)
    return str(found)


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute(_WRITTEN)]


def _rows(connection: psycopg.Connection[Any]) -> dict[str, bytes]:
    return {table: _content(connection, table) for table in _tables(connection)}


def _content(connection: psycopg.Connection[Any], table: str) -> bytes:
    with connection.cursor().copy(f"copy {table} to stdout (format binary)".encode()) as copy:
        return b"".join(copy)


def _empty(connection: psycopg.Connection[Any], rows: dict[str, bytes]) -> None:
    """Tables that are empty in the beginning are truncated, which makes them as small as they were; to truncate clients
    would be to truncate all that refers to them, so the others are written anew, and only if they have changed."""
    written = [table for table in _tables(connection) if table not in rows]
    if written:
        connection.execute(sql.SQL("truncate {} cascade").format(sql.SQL(", ".join(written))))
    connection.execute(_SEQUENCES)
    for table, content in rows.items():
        if _content(connection, table) != content:
            connection.execute(sql.SQL("delete from {}").format(sql.SQL(table)))
            with connection.cursor().copy(f"copy {table} from stdin (format binary)".encode()) as copy:
                copy.write(content)
    connection.execute("select pg_stat_reset()")
