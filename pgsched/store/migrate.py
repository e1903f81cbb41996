"""Brings a database to this release's schema, and tells whether it is there."""

import io
from pathlib import Path
from typing import Any, TextIO

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from pgsched.errors import SchemaMismatch, Unavailable
from pgsched.store.ddl import SCHEMA, roles_sql
from pgsched.store.pinned import pin_now

ROLES = ("pgsched_owner", "pgsched_worker", "pgsched_client", "pgsched_reader")


def migrations_dir() -> Path:
    """Where the Alembic versions are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
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
    may, then migrate again. Raises Unavailable when the database cannot be reached.
    """
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            connection.execute("select 1")
    except psycopg.OperationalError as error:
        raise Unavailable(f"cannot reach the database: {error}") from error
    command.upgrade(alembic_config(url), "heads")
    with psycopg.connect(url) as connection:
        pin_now(connection)
        found = connection.execute("select rolname from pg_roles where rolname = any(%s)", [list(ROLES)])
        there = {row[0] for row in found}
    return [name for name in ROLES if name not in there]


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


def check_schema(connection: psycopg.Connection[Any]) -> None:
    """Raises SchemaMismatch unless the database is at this release's revision."""
    wanted = expected_revision()
    try:
        rows = connection.execute(f"select version_num from {SCHEMA}.schema_version").fetchall()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise SchemaMismatch("the database has no pgsched schema yet: run pgsched migrate") from None
    if (wanted,) not in rows:
        found = ", ".join(row[0] for row in rows) or "none"
        raise SchemaMismatch(f"the database is at {found}, this release needs {wanted}: run pgsched migrate")


__all__ = [
    "alembic_config",
    "check_schema",
    "expected_revision",
    "migrate",
    "migration_sql",
    "migrations_dir",
    "roles_sql",
]
