"""What the server itself counts of statements, where it has loaded pg_stat_statements."""

import contextlib
from typing import Any

import psycopg

PRELOADED = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_planning": "on"}
"""What an embedded server is started with, so that it counts."""
# Of this database alone: what was gathered of others is their owners'.
_FORGET = """
select pg_stat_statements_reset(0, (select oid from pg_database where datname = current_database()), 0)"""
_SENT = """
select coalesce(sum(s.calls), 0)::bigint from pg_stat_statements s
 where s.dbid = (select oid from pg_database where datname = current_database())
   and s.query not like '%pg_stat_statements%'"""


def counts_statements(watcher: psycopg.Connection[Any]) -> bool:
    """Whether the server counts. What it has counted in this database is forgotten."""
    with contextlib.suppress(psycopg.Error):
        watcher.execute("create extension if not exists pg_stat_statements")
        forget_statements(watcher)
        return True
    return False


def forget_statements(watcher: psycopg.Connection[Any]) -> None:
    """Counts anew in this database."""
    watcher.execute(_FORGET.encode())


def statements_sent(watcher: psycopg.Connection[Any]) -> int:
    """How many statements this database was sent since it began to count, begin and commit among them."""
    row = watcher.execute(_SENT.encode()).fetchone()
    return int(row[0]) if row else 0
