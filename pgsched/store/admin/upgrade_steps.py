"""The steps of a migration: create the schema and the roles, run the migration's SQL file, replace the public
interface.

Tables are migrated, and their versions are frozen. After every upgrade, in the same transaction, functions, views,
triggers and privileges are *replaced* from ``interface/*.sql``. An organisation with its own Alembic environment calls
``before_upgrade`` and ``after_upgrade`` around ``context.run_migrations()``. The organisation's versions may rely on
its session settings, but pgsched's must not. So each of pgsched's versions runs with pgsched's settings, and the
earlier settings are restored afterwards.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

import psycopg
from alembic import context

from pgsched.store.admin.async_alembic import AwaitedConnection
from pgsched.store.admin.interface_replacement import (
    check_not_newer,
    interface_sql,
    is_current,
    lock_all,
    note_sql,
    replace,
)
from pgsched.store.admin.schema_revisions import SCHEMA, expected_revision, revisions
from pgsched.store.core.session_settings import PINNED, PINNED_LOCALLY, QUIETLY, locally, waiting_for_locks
from pgsched.store.core.sql import statement

if TYPE_CHECKING:
    from sqlalchemy import AdaptedConnection

VERSION_TABLE: dict[str, Any] = {"version_table": "schema_version", "version_table_schema": SCHEMA}

_LOCKED = "pgsched has locked its tables"
_NAMES = ", ".join(f"'{name}'" for name in re.findall(r"set (\w+) =", PINNED))


def sqlalchemy_url(url: str) -> str:
    """Returns the address for SQLAlchemy's psycopg dialect."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgresql", "postgres"} else url


def run(sql: str) -> None:
    """Runs SQL text, which may contain several statements, in the migration's transaction with pinned settings. In
    offline mode, prints the text instead.
    """
    with pinned():
        _execute(sql)


@contextmanager
def pinned() -> Iterator[None]:
    """Applies pgsched's session settings to the transaction for a block, and then restores the earlier ones. After an
    error, nothing is restored, because the transaction ends.
    """
    _execute(statement("admin/remember_settings").replace("{names}", _NAMES) + PINNED_LOCALLY + ";")
    yield
    _execute(statement("admin/restore_settings"))


def _execute(sql: str) -> None:
    if context.is_offline_mode():
        context.get_context().impl.static_output(sql)  # verbatim: compiling the text would double each %
        return
    _driver().execute(sql.encode())


def _driver() -> psycopg.Connection[Any]:
    pooled = context.get_bind().connection
    driver = pooled.driver_connection
    if isinstance(driver, psycopg.AsyncConnection):
        return cast("psycopg.Connection[Any]", AwaitedConnection(cast("AdaptedConnection", pooled.dbapi_connection)))
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(
            f"pgsched's migrations run over psycopg 3: use a postgresql+psycopg:// address (got one for "
            f"{type(driver).__module__.partition('.')[0]})"
        )
    return driver


def before_upgrade() -> None:
    """Creates the schema and, if the migrating role may, the roles. Prevents other migrations until the transaction
    ends. Locks the tables if a version will run on them. Does nothing for a read-only command, such as ``alembic
    current``."""
    if not _migrates():
        return
    with pinned():
        _execute(f"{QUIETLY}; {locally(waiting_for_locks('120s'))}")
        _execute(statement("admin/make_schemas" if context.is_offline_mode() else "admin/begin_migration"))
        _execute(locally(waiting_for_locks("10s")))
        if context.is_offline_mode() or _may_create_roles():
            _execute(roles_sql())
        if not context.is_offline_mode() and _is_behind():
            lock_all(_driver())
            context.config.attributes[_LOCKED] = True


def _is_behind() -> bool:
    """Whether the tables are at an earlier revision."""
    there = _driver().execute(statement("admin/has_facts")).fetchone() == (True,)
    return there and expected_revision() not in revisions(_driver())


def after_upgrade() -> None:
    """Replaces functions, views, triggers and privileges with those of this release, unless they already match.

    Does nothing for a read-only command, or while pgsched's tables do not exist because only the organisation's own
    versions have run.
    """
    if not _migrates():
        return
    if context.is_offline_mode():
        run("\n".join([*interface_sql(), note_sql() + ";"]))
        return
    reached = _reached()
    if not reached:
        return
    with pinned():
        _record_revision(reached)
        check_not_newer(_driver())
        if not is_current(_driver()):
            replace(_driver(), locked=_LOCKED in context.config.attributes)


def _migrates() -> bool:
    """Whether the command migrates to a revision."""
    try:
        return context.get_revision_argument() is not None
    except KeyError:  # raised for ``current`` and ``revision``
        return False


def _reached() -> list[str]:
    """Returns pgsched's revisions from the Alembic environment's version table, which may be another table than
    pgsched's. Must be called outside ``pinned``, because the environment's settings may determine the table.
    """
    return [head for head in context.get_context().get_current_heads() if head.startswith(f"{SCHEMA}_")]


def _record_revision(reached: list[str]) -> None:
    """Records the revisions in pgsched's own version table, because the environment may use another table."""
    _driver().execute(statement("admin/record_revisions"), {"reached": reached})


def roles_sql() -> str:
    """Returns the script with which a role with CREATEROLE creates pgsched's roles."""
    return files("pgsched.store").joinpath("roles.sql").read_text(encoding="utf-8")


def _may_create_roles() -> bool:
    row = _driver().execute(statement("admin/may_create_roles")).fetchone()
    return bool(row and row[0])
