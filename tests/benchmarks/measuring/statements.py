"""The server's own statement counts, if it has loaded pg_stat_statements."""

import contextlib
from typing import Any

import psycopg

PRELOADED = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_planning": "on"}
"""Settings with which an embedded server counts statements."""
# Only for this database: statistics of others belong to their owners.
_FORGET = """
select pg_stat_statements_reset(0, (select oid from pg_database where datname = current_database()), 0)"""
_SENT = """
select coalesce(sum(s.calls), 0)::bigint from pg_stat_statements s
 where s.dbid = (select oid from pg_database where datname = current_database())
   and s.query not like '%pg_stat_statements%'"""


def counts_statements(watcher: psycopg.Connection[Any]) -> bool:
    """Returns True if the server counts statements. Resets the counts of this database."""
    with contextlib.suppress(psycopg.Error):
        watcher.execute("create extension if not exists pg_stat_statements")
        forget_statements(watcher)
        return True
    return False


def forget_statements(watcher: psycopg.Connection[Any]) -> None:
    """Resets the counts of this database."""
    watcher.execute(_FORGET.encode())


def statements_sent(watcher: psycopg.Connection[Any]) -> int:
    """Returns the number of statements sent to this database since the last reset, including begin and commit."""
    row = watcher.execute(_SENT.encode()).fetchone()
    return int(row[0]) if row else 0
