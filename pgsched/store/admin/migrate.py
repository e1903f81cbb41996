"""Brings a database to this release's schema, and tells whether it is there."""

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from pgsched.errors import SchemaMismatch, Unavailable
from pgsched.store.admin.ddl import SCHEMA, roles_sql
from pgsched.store.admin.replacing import is_current
from pgsched.store.core.fitness import check_fitness
from pgsched.store.core.refusals import refusal
from pgsched.store.core.sql import statement
from pgsched.store.core.transactions import transaction

ROLES = ("pgsched_owner", "pgsched_worker", "pgsched_client", "pgsched_reader")


def migrations_dir() -> Path:
    """Where the Alembic versions are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


def alembic_config(url: str | None = None, *, output: TextIO | None = None) -> Config:
    """An Alembic configuration for pgsched's own versions."""
    config = Config(output_buffer=output)
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    if url is not None:
        config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def migrate(url: str) -> list[str]:
    """Upgrades the database; harmless when repeated or run by several processes at once.

    Returns the roles that are missing because the migrating role may not create them: run ``roles_sql()`` as one that
    may, then migrate again. Raises Unavailable when the database cannot be reached or takes no writes, and
    InvalidSettings where pgsched cannot be in it.
    """
    try:
        with transaction(url) as connection:
            check_fitness(connection)
            done = _is_done(connection)
    except psycopg.OperationalError as error:
        raise Unavailable(f"cannot reach the database: {refusal(error) if error.sqlstate else error}") from error
    if not done:
        command.upgrade(alembic_config(url), "heads")
    with transaction(url) as connection:
        _advance_sequences(connection)
        found = connection.execute(statement("admin/roles_among"), {"names": list(ROLES)})
        there = {row[0] for row in found}
    return [name for name in ROLES if name not in there]


def _advance_sequences(connection: psycopg.Connection[Any]) -> None:
    """Where the rows came by logical replication, the sequences have stayed behind them."""
    row = connection.execute(statement("admin/may_advance_sequences")).fetchone()
    if row and row[0]:
        connection.execute(statement("admin/advance_sequences"))


def _is_done(connection: psycopg.Connection[Any]) -> bool:
    """Whether there is nothing to do; that is found out without a lock that anybody would wait for."""
    row = connection.execute(statement("admin/has_revisions")).fetchone()
    found = _revisions(connection) if row and row[0] else []
    if is_newer(found):
        raise mismatch(found)
    return expected_revision() in found and is_current(connection)


def migration_sql() -> str:
    """The whole upgrade as SQL, for a database administrator to read and run."""
    buffer = io.StringIO()
    command.upgrade(alembic_config(output=buffer), "heads", sql=True)
    return buffer.getvalue()


def expected_revision() -> str:
    """The newest revision this release carries."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise SchemaMismatch("this installation carries no migrations; install pgsched again")
    return head


@cache
def known_revisions() -> frozenset[str]:
    """All revisions that this release carries, the newest and what came before it."""
    return frozenset(script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions())


def check_schema(connection: psycopg.Connection[Any]) -> None:
    """Raises SchemaMismatch unless the database is at this release's revision."""
    try:
        found = _revisions(connection)
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise SchemaMismatch("the database has no pgsched schema yet: run pgsched migrate") from None
    if expected_revision() not in found:
        raise mismatch(found)


def is_newer(found: Sequence[str]) -> bool:
    """Whether a database has a revision that this release does not know, nor comes after."""
    return any(revision not in known_revisions() and not _is_before(revision) for revision in found)


def _is_before(revision: str) -> bool:
    return revision.startswith(f"{SCHEMA}_") and revision < expected_revision()


def mismatch(found: Sequence[str]) -> SchemaMismatch:
    """What is to be done about a database that is at these revisions, and not at this release's."""
    there = ", ".join(found) or "no revision"
    if is_newer(found):
        return SchemaMismatch(
            f"the database is at {there}, of a newer release than this one: install that release or a later one"
        )
    return SchemaMismatch(f"the database is at {there}, this release needs {expected_revision()}: run pgsched migrate")


def _revisions(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute(statement("admin/revisions"))]


__all__ = [
    "alembic_config",
    "check_schema",
    "expected_revision",
    "is_newer",
    "known_revisions",
    "migrate",
    "migration_sql",
    "migrations_dir",
    "mismatch",
    "roles_sql",
]
