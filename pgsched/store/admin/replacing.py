"""Replacing functions, views, triggers and rights while everything goes on.

What is on record says which release's they are, with which migration and for which roles. Where that is what this
release would make, nothing is touched and no lock is taken. Else the tables are locked all at once and for as long
as the replacement takes, a fraction of a second. Who stands in line for a table lock has everybody else stand in
line behind it: so each lock is waited for only a moment, and if one is not to be had, all are given back and it is
tried again.
"""

import hashlib
import random
import time
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from pgsched.errors import Unavailable

Connection = psycopg.Connection[Any]

# A view, and a function whose body is bound when it is made, come after what they name; rights come last.
INTERFACE_FILES = (
    "core/checks", "core/locks", "core/lookups", "core/isolation", "jobs/rules", "schedule/schedule", "schedule/keys",
    "admin/audit", "jobs/control", "jobs/edit", "jobs/failures", "jobs/bulk", "ends/dependencies", "jobs/backfill",
    "ends/outcomes", "ends/dead_letters", "ends/calls", "admin/clients", "ends/replays", "admin/secrets",
    "gates/limits", "admin/queues", "gates/sidelining", "schedule/notify", "ends/policy", "gates/ordering",
    "pull/in_hand", "pull/results", "pull/queues", "pull/claim", "lookup/sidelined", "lookup/status",
    "lookup/undeliverable", "admin/days", "admin/replication", "admin/rights",
)  # fmt: skip
_AT_THE_MOST = 60.0  # seconds of trying
_APART = (0.1, 0.5)
_RECORD: LiteralString = """
select concat_ws(' ', %s::text, (select string_agg(v.version_num, ',' order by 1) from pgsched.schema_version v),
         (select string_agg(r.rolname, ',' order by r.rolname) from pg_catalog.pg_roles r
           where r.rolname in ('pgsched_owner', 'pgsched_worker', 'pgsched_client', 'pgsched_reader')))
"""
_NOTE: LiteralString = """
insert into pgsched_internal.facts as f (name, value) values ('interface', ({record}))
    on conflict (name) do update set value = excluded.value, updated_at = pgsched.now()
"""
# Partitions are not touched; those who have a view open do not hold up the tables in vain.
_TABLES: LiteralString = """
select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and c.relkind in ('r', 'p') and not c.relispartition
   and c.relname <> 'schema_version'
 order by c.relname in ('executions', 'history', 'jobs'), n.nspname, c.relname
"""
_HOLDERS: LiteralString = """
select distinct l.relation::regclass::text, l.pid from pg_catalog.pg_locks l
  join pg_catalog.pg_class c on c.oid = l.relation join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and l.granted and l.pid <> pg_catalog.pg_backend_pid()
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
   and (c.relkind = 'v' or not %s) order by 1 limit 5
"""


def interface_sql() -> list[str]:
    """The interface's files in the order in which they depend on each other."""
    folder = files("pgsched.store").joinpath("interface")
    return [folder.joinpath(f"{name}.sql").read_text(encoding="utf-8") for name in INTERFACE_FILES]


def digest() -> str:
    """What this release's interface is told by."""
    return hashlib.sha256("\n".join(interface_sql()).encode()).hexdigest()


def is_current(connection: Connection) -> bool:
    """Whether a database has this release's interface, for its present revision and roles. Takes no lock of note."""
    there = connection.execute("select to_regclass('pgsched_internal.facts'), to_regclass('pgsched.schema_version')")
    if None in (there.fetchone() or (None,)):
        return False
    query = sql.SQL("select exists (select from pgsched_internal.facts where name = 'interface' and value = ({}))")
    row = connection.execute(query.format(sql.SQL(_RECORD)), [digest()]).fetchone()
    return bool(row and row[0])


def note_sql() -> str:
    """The statement that puts on record what was made, as text."""
    return _NOTE.replace("{record}", _RECORD.replace("%s", f"'{digest()}'"))


def replace(connection: Connection) -> None:
    """Replaces the interface in the open transaction. Raises Unavailable where somebody keeps a table from it."""
    deadline = time.monotonic() + _AT_THE_MOST
    while not _try_to_replace(connection):
        if time.monotonic() > deadline:
            raise Unavailable(f"others keep locks that are needed for a moment: {_holders(connection)}")
        time.sleep(random.uniform(*_APART))


def _try_to_replace(connection: Connection) -> bool:
    if connection.execute(_HOLDERS, [True]).fetchone():
        return False
    try:
        with connection.transaction():
            connection.execute("set local lock_timeout = '100ms'")
            _lock(connection)
            for text in interface_sql():
                connection.execute(text.encode())
            connection.execute(note_sql().encode())
            connection.execute("set local lock_timeout = '10s'")
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def _lock(connection: Connection) -> None:
    tables: Sequence[tuple[str, str]] = connection.execute(_TABLES).fetchall()
    for schema, name in tables:
        query = sql.SQL("lock table only {} in access exclusive mode")
        connection.execute(query.format(sql.Identifier(schema, name)))


def _holders(connection: Connection) -> str:
    rows = connection.execute(_HOLDERS, [False]).fetchall()
    return ", ".join(f"{relation} (process {pid})" for relation, pid in rows) or "nobody any more, try again"
