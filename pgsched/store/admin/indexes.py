"""Rebuilds indexes that were dropped or left unfinished, without interrupting anything else.

Indexes are built concurrently, so no reader or writer waits. PostgreSQL cannot build an index of a partitioned table
concurrently, so each partition's index is built separately and then attached to the table's index. An interrupted build
is resumed.
"""

import time
from typing import Any

import psycopg

from pgsched.errors import Unavailable
from pgsched.store.admin.interface_replacement import at_the_most, pause
from pgsched.store.core.new_connection import connect
from pgsched.store.core.session_settings import session_of_command, waiting_for_locks
from pgsched.store.core.sql import statement

Connection = psycopg.Connection[Any]
_AT_ONCE = waiting_for_locks("100ms")


def rebuild_indexes(url: str) -> list[str]:
    """Rebuilds missing indexes that the last migration recorded, and missing partition tables: if one is missing,
    nothing in its queue is claimed. Returns the names of everything rebuilt. Raises Unavailable if another session's
    lock prevents a step; earlier steps are kept."""
    with connect(url) as connection:
        connection.autocommit = True
        connection.execute(session_of_command(connection))
        parts = connection.execute(statement("admin/lost_partitions")).fetchall()
        for number, pulled in parts:
            _run(connection, f"select pgsched_internal.make_partition({number}, {pulled})", at_once=True)
        found = connection.execute(statement("admin/lost_indexes")).fetchall()
        for name, definition, partitioned, there in found:
            if partitioned:
                _build_in_parts(connection, name, definition, there=there)
            else:
                _run(connection, f"drop index concurrently if exists {name}")
                _run(connection, _concurrently(definition))
        unfinished = connection.execute(statement("admin/unfinished_indexes")).fetchall()
        for name, left_over in unfinished:
            _run(connection, f"{'drop' if left_over else 'reindex'} index concurrently {name}")
    return [
        *(f"pgsched_internal.executions_{number}" for number, _ in parts),
        *(name for name, *_ in [*found, *unfinished]),
    ]


def _build_in_parts(connection: Connection, name: str, definition: str, *, there: bool) -> None:
    if not there:
        _run(connection, definition, at_once=True)
    kind, _, columns = definition.partition(" USING ")
    create = "create unique index" if kind.startswith("CREATE UNIQUE") else "create index"
    while parts := connection.execute(statement("admin/unindexed_partitions"), {"name": name}).fetchall():
        for partition, built, unfinished in parts:
            if unfinished is not None:
                _run(connection, f"drop index concurrently {unfinished}")
            if built is not None:
                _run(connection, f"alter index {name} attach partition {built}", at_once=True)
            else:
                _run(connection, f"{create} concurrently on {partition} using {columns}")


def _concurrently(definition: str) -> str:
    return definition.replace(" INDEX ", " INDEX CONCURRENTLY ", 1)


def _run(connection: Connection, text: str, *, at_once: bool = False) -> None:
    """Runs a statement. With ``at_once``, each try waits only briefly for the lock, because other sessions queue behind
    a session that waits for such a lock."""
    deadline = time.monotonic() + at_the_most()
    connection.execute(_AT_ONCE if at_once else waiting_for_locks("60s"))
    while True:
        try:
            connection.execute(text.encode())
        except psycopg.errors.LockNotAvailable as error:
            if not at_once or time.monotonic() > deadline:
                why = f"other transactions hold locks for too long ({text}): end them and try again"
                raise Unavailable(why) from error
            pause()
        else:
            return
