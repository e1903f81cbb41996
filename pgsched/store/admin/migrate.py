"""Migrates a database to this release's schema."""

import io
import time
from typing import Any, TextIO

import psycopg
from alembic import command
from alembic.config import Config

from pgsched.errors import Unavailable
from pgsched.store import internal_verbs
from pgsched.store.admin.interface_replacement import ROLES, at_the_most, check_not_newer, forget, is_current, pause
from pgsched.store.admin.schema_revisions import expected_revision, is_newer, migrations_dir, mismatch, revisions
from pgsched.store.core.fitness import check_fitness
from pgsched.store.core.new_connection import transaction
from pgsched.store.core.refusals import refusal
from pgsched.store.core.sql import statement


def alembic_config(url: str | None = None, *, output: TextIO | None = None) -> Config:
    """Returns an Alembic configuration for pgsched's own versions."""
    config = Config(output_buffer=output)
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    if url is not None:
        config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def migrate(url: str, *, anew: bool = False) -> list[str]:
    """Upgrades the database. Safe to repeat, and to run in several processes at once. With ``anew``, functions, views,
    triggers and privileges are replaced even if they already match this release.

    Returns the roles that are missing because the migrating role may not create them: run ``roles_sql()`` as a role
    that may, then migrate again. Raises Unavailable if the database cannot be reached or is read only, InvalidSettings
    if its settings do not suit pgsched, and SchemaMismatch if a later release has migrated it.
    """
    try:
        with transaction(url) as connection:
            check_fitness(connection)
            check_not_newer(connection)
            if anew:
                forget(connection)
            done = _is_done(connection)
    except psycopg.OperationalError as error:
        raise Unavailable(f"cannot reach the database: {refusal(error) if error.sqlstate else error}") from error
    if not done:
        _upgrade(url)
    with transaction(url) as connection:
        _advance_sequences(connection)
        found = connection.execute(statement("admin/roles_among"), {"names": list(ROLES)})
        there = {row[0] for row in found}
    return [name for name in ROLES if name not in there]


def _upgrade(url: str) -> None:
    """Runs the versions and replaces the interface, in one transaction. If a lock is unavailable while others are held,
    rolls back and starts again."""
    deadline = time.monotonic() + at_the_most()
    while True:
        try:
            return command.upgrade(alembic_config(url), "heads")
        except (Unavailable, psycopg.errors.LockNotAvailable):
            if time.monotonic() > deadline:
                raise
        pause()


def _advance_sequences(connection: psycopg.Connection[Any]) -> None:
    """Advances the sequences if rows arrived by logical replication, which does not replicate sequences."""
    row = connection.execute(statement("admin/may_advance_sequences")).fetchone()
    if row and row[0]:
        connection.execute(internal_verbs.advance_sequences.text())


def _is_done(connection: psycopg.Connection[Any]) -> bool:
    """Whether the database is up to date. Checking takes no lock that others would wait for."""
    row = connection.execute(statement("admin/has_revisions")).fetchone()
    found = revisions(connection) if row and row[0] else []
    if is_newer(found):
        raise mismatch(found)
    return expected_revision() in found and is_current(connection)


def migration_sql() -> str:
    """Returns the whole upgrade as SQL, for a database administrator to read and run."""
    buffer = io.StringIO()
    command.upgrade(alembic_config(output=buffer), "heads", sql=True)
    return buffer.getvalue()
