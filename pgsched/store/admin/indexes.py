"""Makes indexes again that somebody has dropped, or that were not built to their end, while everything goes on.

Each is built concurrently, which no reader and no writer waits for. PostgreSQL does not do so for a partitioned table:
there each partition gets its index concurrently, and the index of the table takes them in. A build that was interrupted
is continued.
"""

import time
from typing import Any

import psycopg

from pgsched.errors import Unavailable
from pgsched.store.admin.replacing import at_the_most, pause
from pgsched.store.core.own_connection import connect
from pgsched.store.core.session_settings import session_of_command, waiting_for_locks
from pgsched.store.core.sql import statement

Connection = psycopg.Connection[Any]
_AT_ONCE = waiting_for_locks("100ms")


def rebuild_indexes(url: str) -> list[str]:
    """Makes the indexes again that the record of the last migration has and the database has not, and tables of queues'
    partitions, without which nothing of their queue is claimed; returns their names.

    Raises Unavailable where somebody keeps a table from it: what was built until then stays."""
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
    """What is done ``at_once`` needs a lock for which others would stand in line: it is waited for a moment, again and
    again."""
    deadline = time.monotonic() + at_the_most()
    connection.execute(_AT_ONCE if at_once else waiting_for_locks("60s"))
    while True:
        try:
            connection.execute(text.encode())
        except psycopg.errors.LockNotAvailable as error:
            if not at_once or time.monotonic() > deadline:
                why = f"others keep locks for long ({text}): end their transactions, and try again"
                raise Unavailable(why) from error
            pause()
        else:
            return
