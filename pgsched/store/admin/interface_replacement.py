"""Replaces functions, views, triggers and privileges while everything else continues.

Together, these objects are the interface. A record says which release made the interface, at which migration and for
which roles. If the interface is already this release's, nothing is changed and no lock is taken. An interface made by a
later release is not replaced, because running processes may need it.

In all other cases, all tables are locked for a fraction of a second. A session that waits for a table lock makes all
others queue behind it, so each wait is brief: if a lock is unavailable, all locks are released before the next try. A
release that migrates the tables takes the same locks first, and keeps them until the transaction ends.
"""

import hashlib
import random
import re
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from pgsched.errors import SchemaMismatch, Unavailable
from pgsched.store.admin.schema_revisions import serves_from
from pgsched.store.core.session_settings import locally, waiting_for_locks
from pgsched.store.core.sql import statement
from pgsched.version import __version__

Connection = psycopg.Connection[Any]

ROLES = ("pgsched_owner", "pgsched_worker", "pgsched_api", "pgsched_client", "pgsched_reader")
# A view, or a function whose body is parsed on creation, must come after the objects that it names. Grants come last.
INTERFACE_FILES = (
    "core/defaults_and_checks", "core/targets", "core/json", "core/execution_options", "core/queue_partitions",
    "core/locks", "core/execution_by_id", "core/culprits", "jobs/upstream_runs", "jobs/recurrence_rules",
    "schedule/checks", "schedule/schedule", "schedule/keyed", "schedule/keys", "schedule/edits", "admin/authorization",
    "admin/audit", "jobs/planned_rows", "jobs/claimed_row_recheck", "schedule/job", "jobs/cancel_and_trigger",
    "jobs/edit", "jobs/pauses", "admin/pauses", "ends/dependencies", "ends/ending", "ends/dependents",
    "ends/dead_letters", "ends/transactional_targets", "admin/clients", "ends/replayed_dependents", "bulk/filters",
    "bulk/counting", "bulk/changing", "bulk/backfill", "bulk/asking", "gates/limits", "admin/queues",
    "admin/paused_workers", "gates/sidelining", "schedule/notify", "admin/secrets", "admin/signing_secrets",
    "ends/retry_decision", "ends/too_late_at_gate", "gates/wait_log", "gates/ordering", "pull/in_hand", "pull/verbs",
    "pull/delayed_results", "pull/queues", "pull/claim", "admin/recovery", "lookup/sidelined", "lookup/status",
    "lookup/undeliverable", "lookup/rollups", "admin/day_partitions", "admin/default_partition",
    "admin/logical_replication", "admin/api_keys", "admin/installation_settings", "admin/schema_digest",
    "admin/grants",
)  # fmt: skip
_AT_THE_MOST = 60.0  # seconds to keep trying
_AT_THE_MOST_WITH_LOCKS = 1.0
_APART = (0.1, 0.5)


def interface_sql() -> list[str]:
    """Returns the texts of the interface's files, in dependency order."""
    folder = files("pgsched.store").joinpath("interface")
    return [folder.joinpath(f"{name}.sql").read_text(encoding="utf-8") for name in INTERFACE_FILES]


def digest() -> str:
    """Returns the digest that identifies this release's interface."""
    return hashlib.sha256("\n".join(interface_sql()).encode()).hexdigest()


def is_current(connection: Connection) -> bool:
    """Whether a database has this release's interface, for its current revision and roles. Takes no heavy lock."""
    if connection.execute(statement("admin/has_facts")).fetchone() != (True,):
        return False
    return connection.execute(is_current_sql()).fetchone() == (True,)


def is_current_sql() -> bytes:
    """Returns the statement that ``is_current`` runs. It fails if the tables that it reads do not exist."""
    return _recorded("admin/interface_is_current").encode()


def check_not_newer(connection: Connection) -> None:
    """Raises SchemaMismatch if a later release made the interface."""
    if connection.execute(statement("admin/has_facts")).fetchone() != (True,):
        return
    found = connection.execute(statement("admin/newer_interface"), {"numbers": _numbers(__version__)}).fetchone()
    if found:
        raise SchemaMismatch(
            f"the functions, views and grants were installed by release {found[0]}, which is newer than this one "
            f"({__version__}): migrate with that release or a later one"
        )


def _numbers(release: str) -> list[int]:
    """Returns a release's version numbers, for comparisons. A pre-release has the same numbers as its release."""
    found = re.match(r"[0-9]+(\.[0-9]+)*", release)
    return [int(number) for number in found.group().split(".")] if found else []


def forget(connection: Connection) -> None:
    """Makes the next migration replace the interface."""
    if connection.execute(statement("admin/has_facts")).fetchone() == (True,):
        connection.execute(statement("admin/forget_interface"))


def note_sql() -> str:
    """Returns the statements that record which interface was made, and the state of the catalogue."""
    release = statement("admin/record_release").replace("{release}", f"'{__version__}'")
    release = release.replace("{serves_from}", f"'{serves_from()}'")
    return ";\n".join([_recorded("admin/record_interface"), release, statement("admin/record_catalogue")])


def _recorded(name: str) -> str:
    """Returns a statement that uses the interface's record. Its only value, the digest, is inlined, because the
    statement may be printed."""
    record = statement("admin/interface_record").replace("%(digest)s", f"'{digest()}'")
    return statement(name).replace("{record}", record)


def lock_all(connection: Connection) -> None:
    """Locks all tables until the open transaction ends. Raises Unavailable if another session's lock prevents it."""
    _repeat(_try_to_lock, connection, at_the_most())


def replace(connection: Connection, *, locked: bool = False) -> None:
    """Replaces the interface in the open transaction. Raises Unavailable if another session's lock prevents it.

    If all tables are already ``locked``, gives up early, because all other sessions are waiting.
    """
    _repeat(_try_to_replace, connection, _AT_THE_MOST_WITH_LOCKS if locked else at_the_most())


def at_the_most() -> float:
    """Returns the number of seconds to keep trying."""
    return _AT_THE_MOST


def pause() -> None:
    """Waits a random time before the next try, so that two migrations do not block each other forever."""
    time.sleep(random.uniform(*_APART))


def _repeat(attempt: Callable[[Connection], bool], connection: Connection, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not attempt(connection):
        if time.monotonic() > deadline:
            raise Unavailable(
                f"the migration gave up, because other sessions kept locks that it needs: {_holders(connection)}"
            )
        pause()


def _try_to_replace(connection: Connection) -> bool:
    def replace_all() -> None:
        for text in interface_sql():
            connection.execute(text.encode())
        connection.execute(note_sql().encode())
        connection.execute(locally(waiting_for_locks("10s")))

    return _with_all_locked(connection, replace_all)


def _try_to_lock(connection: Connection) -> bool:
    # A version may still have to wait for a lock on a partition: an autovacuum there gives way within a second.
    return _with_all_locked(connection, lambda: connection.execute(locally(waiting_for_locks("2s"))))


def _with_all_locked(connection: Connection, do: Callable[[], object]) -> bool:
    """Runs ``do`` with all tables locked. Returns False, and keeps no lock, if a lock was unavailable."""
    if connection.execute(statement("admin/interface_holders"), {"views_only": True}).fetchone():
        return False
    try:
        with connection.transaction():
            connection.execute(locally(waiting_for_locks("100ms")))
            _lock(connection)
            do()
    except psycopg.errors.LockNotAvailable:
        return False
    return True


def _lock(connection: Connection) -> None:
    tables: Sequence[tuple[str, str]] = connection.execute(statement("admin/interface_tables")).fetchall()
    for schema, name in tables:
        query = sql.SQL("lock table only {} in access exclusive mode")
        connection.execute(query.format(sql.Identifier(schema, name)))


def _holders(connection: Connection) -> str:
    rows = connection.execute(statement("admin/interface_holders"), {"views_only": False}).fetchall()
    return (
        ", ".join(f"{relation} (process {pid})" for relation, pid in rows)
        or "they have released them now, so try again"
    )
