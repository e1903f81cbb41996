"""Two servers: one with pgsched's database, the other with a subscription to all of its tables."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

LOGICAL = {
    "wal_level": "logical",
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_worker_processes": "30",
    "max_logical_replication_workers": "20",
    "max_sync_workers_per_subscription": "8",
    "wal_retrieve_retry_interval": "100ms",
    "wal_receiver_status_interval": "1s",
}
# A partitioned table stands for its partitions; a day's table that is not yet a partition is compared separately.
_TABLES = """
select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname in ('pgsched', 'pgsched_internal') and c.relkind in ('r', 'p') and not c.relispartition order by 1"""
_PARTITIONS = """
select i.inhparent::regclass::text, i.inhrelid::regclass::text, pg_get_expr(c.relpartbound, c.oid)
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where c.relkind = 'r' and c.relnamespace = 'pgsched_internal'::regnamespace order by 1, 2"""
_UNREADY = "select srrelid::regclass::text, srsubstate from pg_subscription_rel where srsubstate <> 'r'"
_SENT = "select pg_current_wal_lsn()"
_APPLIED = "select coalesce(bool_and(latest_end_lsn >= %s), false) from pg_stat_subscription where relid is null"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The database in which pgsched runs, and the one that subscribes to it."""

    source: Connection
    source_url: str
    copy: Connection
    copy_url: str
    subscription: str

    def catch_up(self) -> None:
        """Waits until all tables are copied and everything committed so far is applied."""
        (sent,) = self.source.execute(_SENT).fetchone() or (None,)
        until(lambda: not self.copy.execute(_UNREADY).fetchall())
        until(lambda: (self.copy.execute(_APPLIED, [sent]).fetchone() or (False,))[0])

    def difference(self) -> dict[str, tuple[int, int]]:
        """Returns the tables whose rows differ, each with the number of rows that only the source has and that only the
        copy has."""
        tables = [row[0] for row in self.source.execute(_TABLES)]
        assert [row[0] for row in self.copy.execute(_TABLES)] == tables
        found = {}
        for table in tables:
            there, here = _rows(self.source, table), _rows(self.copy, table)
            if there != here:
                found[table] = len(there - here), len(here - there)
        return found

    def partitions(self) -> tuple[list[Any], list[Any]]:
        """Returns the partitions of both, with their bounds."""
        return self.source.execute(_PARTITIONS).fetchall(), self.copy.execute(_PARTITIONS).fetchall()


@contextmanager
def following(source_url: str, copy_url: str, *, programs: Path, options: str = "") -> Iterator[Pair]:
    """Copies the schema into the empty database ``copy_url``, which subscribes for the duration of the block."""
    with (
        psycopg.connect(source_url, autocommit=True) as source,
        psycopg.connect(copy_url, autocommit=True) as copy,
    ):
        copy_schema(source_url, copy_url, programs)
        source.execute(f"create publication everything for all tables {options}".encode())
        name = copy.info.dbname  # also the slot's name, which must be unique among all databases of the source
        query = sql.SQL("create subscription {} connection {} publication everything")
        copy.execute(query.format(sql.Identifier(name), source_url))
        try:
            yield Pair(source=source, source_url=source_url, copy=copy, copy_url=copy_url, subscription=name)
        finally:
            copy.execute(sql.SQL("drop subscription if exists {}").format(sql.Identifier(name)))


def copy_schema(source_url: str, copy_url: str, programs: Path) -> None:
    """Copies roles and tables as the documentation describes."""
    roles = [programs / "pg_dumpall", "--roles-only", "--no-role-passwords", "--dbname", source_url]
    tables = [programs / "pg_dump", "--schema-only", "--no-publications", "--no-subscriptions", "--dbname", source_url]
    psql = [programs / "psql", "--no-psqlrc", "--quiet", "--output", "/dev/null", "--dbname", copy_url]
    _pipe(roles, psql)  # the superuser exists already
    _pipe(tables, [*psql, "--set", "ON_ERROR_STOP=1", "--single-transaction"])


def _pipe(dump: list[Any], psql: list[Any]) -> None:
    text = subprocess.run(dump, check=True, capture_output=True).stdout
    subprocess.run(psql, check=True, input=text, capture_output=True)


def until(condition: Callable[[], Any], *, seconds: float = 60) -> Any:
    """Polls until the condition, which depends on another server, is met."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def _rows(connection: Connection, table: str) -> set[str]:
    return {row[0] for row in connection.execute(f"select t::text from {table} t".encode())}
