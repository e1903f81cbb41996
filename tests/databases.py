"""Databases that tests borrow, one test at a time.

Creating one copies a thousand files, which took longer than most tests. So a returned database is emptied and lent
again; it is dropped if a test changed more than rows. A session stays open for the cleaning, since connecting and
planning each statement took longer than the cleaning itself.
"""

import secrets
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import ConnStatus, ExecStatus, PGconn, TransactionStatus, abc
from pytest_postgresql.janitor import DatabaseJanitor

from tests.kept_sessions import end_idle, idle_pids, is_cleared

Session = psycopg.Connection[tuple[Any, ...]]

# Everything that a migration or a person can create: relations, columns, functions and so on, with their privileges.
# An identity is the same in every copy of the template. Whatever is created or changed has a higher xmin than before,
# and whatever is dropped is missing from the count; truncate rewrites only rows of pg_class.
_CATALOG = """
select md5(string_agg(part, ' ' order by part)) from (
  select format('class %s %s %s %s %s %s', oid, relname, relowner, relacl, reloptions, relhastriggers)
    from pg_class where oid >= 16384
  union all select format('attribute %s %s', count(*), max(xmin::text::int8)) from pg_attribute where attrelid >= 16384
  union all select format('proc %s %s', count(*), max(xmin::text::int8)) from pg_proc where oid >= 16384
  union all select format('trigger %s %s', count(*), max(xmin::text::int8)) from pg_trigger where oid >= 16384
  union all select format('constraint %s %s', count(*), max(xmin::text::int8)) from pg_constraint where oid >= 16384
  union all select format('policy %s %s', count(*), max(xmin::text::int8)) from pg_policy
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
 where datname = current_database() and pid <> pg_backend_pid() and pid <> all(%s)
   and backend_type = 'client backend'"""


class Kept:
    """A session on a borrowed database that is kept between tests. It keeps its compiled functions and plans, since
    redoing them took longer than most tests."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pgconn: abc.PGconn | None = None

    @property
    def pid(self) -> int:
        """The process id of the session, or 0 if there is none."""
        return 0 if self._pgconn is None or self._pgconn.status != ConnStatus.OK else self._pgconn.backend_pid

    @contextmanager
    def lent(self) -> Iterator[abc.PGconn]:
        """Lends the session in the state of a newly opened one."""
        if self._pgconn is None or self._pgconn.exec_(b"").status != ExecStatus.EMPTY_QUERY:  # a test may have ended it
            self._pgconn = PGconn.connect(make_conninfo(self._url, client_encoding="utf8").encode())
        if self._pgconn.status != ConnStatus.OK:
            raise psycopg.OperationalError(self._pgconn.get_error_message())
        try:
            yield self._pgconn
        finally:
            if not _is_cleared(self._pgconn):
                self.close()

    @contextmanager
    def connection(self) -> Iterator[Session]:
        """Lends the session as an autocommit connection."""
        with self.lent() as pgconn:
            made = Session(pgconn)
            made.autocommit = True
            try:
                yield made
            finally:
                made.pgconn = PGconn()  # so that closing the connection does not close the session

    @asynccontextmanager
    async def async_connection(self) -> AsyncIterator[psycopg.AsyncConnection[tuple[Any, ...]]]:
        """Async version of `connection`."""
        with self.lent() as pgconn:
            made = psycopg.AsyncConnection[tuple[Any, ...]](pgconn)
            await made.set_autocommit(True)
            try:
                yield made
            finally:
                made.pgconn = PGconn()

    def close(self) -> None:
        if self._pgconn is not None:
            self._pgconn.finish()
            self._pgconn = None


_LENT: dict[str, Kept] = {}


def kept(url: str) -> Kept:
    """Returns the kept session of a lent database by its URL."""
    return _LENT[url]


def _is_cleared(pgconn: abc.PGconn) -> bool:
    """Clears all session state that a test has left. Returns False if that was not possible."""
    if pgconn.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
        pgconn.exec_(b"rollback")
    if pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    return is_cleared(pgconn, b"deallocate all")


class Janitor:
    """Creates and drops databases on one server: pytest-postgresql's janitor, with a session that is kept open."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = psycopg.connect(url, autocommit=True)
        info = self._session.info
        self._server: dict[str, Any] = {
            "user": info.user,
            "password": info.password,
            "host": info.host,
            "port": str(info.port),
        }

    def make(self, name: str, *, template: str | None = None, as_template: bool = False) -> DatabaseJanitor:
        """Returns a database of this name that exists from ``init`` to ``drop``, or within a ``with``."""
        named: dict[str, Any] = self._server | {"dbname": name, "template_dbname": template, "as_template": as_template}
        return DatabaseJanitor(**named) if template is None else _FileCopy(self, named)

    def url_of(self, name: str) -> str:
        base, _, query = self.url.partition("?")
        return base.rsplit("/", 1)[0] + f"/{name}" + (f"?{query}" if query else "")

    def do(self, statement: LiteralString, *names: str) -> None:
        self._session.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def close(self) -> None:
        self._session.close()


class _FileCopy(DatabaseJanitor):
    """A copy of a template. Copying files takes a third of the time of logging each page."""

    def __init__(self, janitor: Janitor, named: dict[str, Any]) -> None:
        super().__init__(**named)
        self._kept, self._template, self._as_template = janitor, named["template_dbname"], named["as_template"]

    def init(self) -> None:
        self._kept.do("create database {} template {} strategy file_copy", self.dbname, self._template)
        if self._as_template:
            self._kept.do("alter database {} is_template true", self.dbname)

    def drop(self) -> None:
        if self._as_template:
            self._kept.do("alter database {} is_template false", self.dbname)
        self._kept.do("drop database if exists {} with (force)", self.dbname)


@dataclass(slots=True)
class _Copy:
    """A copy of the template, the session that empties it, and its catalog when it was made.

    Catalogs of copies may differ: a newly migrated template is analyzed once autovacuum gets to it.
    """

    database: DatabaseJanitor
    url: str
    session: Session
    catalog: str
    kept: Kept

    def drop(self) -> None:
        end_idle(self.url)
        self.kept.close()
        self.session.close()
        self.database.drop()


class Databases:
    """The databases of one server, all copies of one template."""

    def __init__(self, janitor: Janitor, template: str) -> None:
        self._janitor, self._template = janitor, template
        self._idle: list[_Copy] = []
        self._rows: dict[str, tuple[str, bytes]] = {}  # for each table that has rows: their digest and their content

    @contextmanager
    def lent(self) -> Iterator[str]:
        """Lends the URL of a database as clean as the template."""
        copy = self._idle.pop() if self._idle else self._made()
        _LENT[copy.url] = copy.kept
        try:
            yield copy.url
        finally:
            del _LENT[copy.url]
            if self._is_emptied(copy):
                self._idle.append(copy)
            else:
                copy.drop()

    def close(self) -> None:
        for copy in self._idle:
            copy.drop()

    def _made(self) -> _Copy:
        database = self._janitor.make(f"test_{secrets.token_hex(6)}", template=self._template)
        database.init()
        url = self._janitor.url_of(database.dbname)
        session = _session(url)
        self._rows = self._rows or _rows(session)
        return _Copy(database, url, session, _catalog(session), Kept(url))

    def _is_emptied(self, copy: _Copy) -> bool:
        """Restores the initial state. Returns False if that was not possible."""
        try:
            if not _lives(copy.session):  # a test has ended all sessions
                copy.session.close()
                copy.session = _session(copy.url)
            copy.session.execute(_OTHERS, [[copy.kept.pid, *idle_pids(copy.url)]], prepare=True)
            with copy.session.transaction():
                if _catalog(copy.session) != copy.catalog:
                    return False
                _empty(copy.session, self._rows)
        except psycopg.Error:
            return False
        return True


def _session(url: str) -> Session:
    session = psycopg.connect(url, autocommit=True, application_name="between tests")
    session.execute("set lock_timeout = '5s'; set session_replication_role = replica")
    return session


def _lives(session: Session) -> bool:
    try:
        session.execute("")
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def lending(janitor: Janitor, template: str) -> Iterator[Databases]:
    """Lends copies of this template, which are dropped at the end."""
    databases = Databases(janitor, template)
    try:
        yield databases
    finally:
        databases.close()


@contextmanager
def lending_with(statement: str, name: str, *, janitor: Janitor, template: str) -> Iterator[Databases]:
    """Like `lending`, with a template called ``name``: a copy of the given one, changed by a statement."""
    with janitor.make(name, template=template, as_template=True):
        with psycopg.connect(janitor.url_of(name)) as connection:
            connection.execute(statement.encode())
        with lending(janitor, name) as databases:
            yield databases


def _catalog(session: Session) -> str:
    [found] = session.execute(_CATALOG, prepare=True).fetchone() or ("",)
    return str(found)


def _tables(session: Session) -> list[str]:
    return [row[0] for row in session.execute(_WRITTEN, prepare=True)]


def _rows(session: Session) -> dict[str, tuple[str, bytes]]:
    tables = _tables(session)
    digests = _digests(session, tables)
    return {table: (digests[table], _content(session, table)) for table in tables}


def _digests(session: Session, tables: Iterable[str]) -> dict[str, str]:
    one = "select {!r}, md5(string_agg(t::text, ' ' order by t::text)) from {} t"
    asked = " union all ".join(one.format(table, table) for table in tables)
    return dict(session.execute(asked.encode(), prepare=True).fetchall())


def _content(session: Session, table: str) -> bytes:
    with session.cursor().copy(f"copy {table} to stdout (format binary)".encode()) as copy:
        return b"".join(copy)


def _empty(session: Session, rows: dict[str, tuple[str, bytes]]) -> None:
    """Empties the database. Tables that were empty at first are truncated, which also restores their size. Truncating
    clients would cascade to every table that refers to it, so the other tables are rewritten, and only if they have
    changed."""
    written = [table for table in _tables(session) if table not in rows]
    if written:
        session.execute(sql.SQL("truncate {} cascade").format(sql.SQL(", ".join(written))))
    session.execute(_SEQUENCES, prepare=True)
    digests = _digests(session, rows)
    for table, (digest, content) in rows.items():
        if digests[table] != digest:
            session.execute(sql.SQL("delete from {}").format(sql.SQL(table)))
            with session.cursor().copy(f"copy {table} from stdin (format binary)".encode()) as copy:
                copy.write(content)
            session.execute("truncate pgsched.audit_log restart identity")  # it has entries about the rewritten rows
    session.execute("select pg_stat_reset()", prepare=True)


@contextmanager
def login_as(db: Session, url: str, group: str, *, name: str = "looks") -> Iterator[str]:
    """Yields the URL with a new login that is a member of only this role."""
    login, parts = sql.Identifier(name), urlsplit(url)
    db.execute(sql.SQL("create role {} login password 'x' in role {}").format(login, sql.Identifier(group)))
    try:
        yield parts._replace(netloc=f"{name}:x@{parts.hostname}:{parts.port}").geturl()
    finally:
        db.execute(sql.SQL("drop role {}").format(login))
