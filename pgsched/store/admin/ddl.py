"""What a migration runs: its own SQL file, and around it the schema, the roles and the public interface.

Tables are migrated and their versions are frozen; functions, views, triggers and rights are *replaced* after every
upgrade from ``interface/*.sql``, in the same transaction. An organisation with an Alembic environment of its own calls
``before_upgrade`` and ``after_upgrade`` around ``context.run_migrations()`` there. Its own versions may rely on what
its sessions are set to, and ours must not: ours run under the settings that all sessions of pgsched have, and each time
those that there were are put back.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import psycopg
from alembic import context
from sqlalchemy import text

from pgsched.store.admin.replacing import interface_sql, is_current, note_sql, replace
from pgsched.store.core.pinned import PINNED

SCHEMA = "pgsched"
VERSION_TABLE: dict[str, Any] = {"version_table": "schema_version", "version_table_schema": SCHEMA}


# One migration at a time: a second one waits here, and then finds nothing to do. Nobody else may lock this table so.
# Of two that begin in an empty database, the later waits for the earlier, and goes on with what that has made.
_SCHEMAS = "create schema if not exists pgsched;\ncreate schema if not exists pgsched_internal;"
_ALONE = """
do $$ begin create schema if not exists pgsched;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin create schema if not exists pgsched_internal;
exception when unique_violation or duplicate_schema then null; end $$;
do $$ begin
  create table if not exists pgsched.schema_version (
    version_num varchar(32) not null constraint schema_version_pkc primary key);
exception when unique_violation or duplicate_table then null; end $$;
lock table pgsched.schema_version in share row exclusive mode;
"""
# As statements, so that offline they can be printed; the first looks nothing up by the path that it finds.
_NAMES = ", ".join(f"'{name}'" for name in re.findall(r"set (\w+) =", PINNED))
_PIN = f"""
do $$ begin perform pg_catalog.set_config('pgsched.before', pg_catalog.jsonb_object_agg(
  s.name, pg_catalog.current_setting(s.name))::pg_catalog.text, true)
  from pg_catalog.unnest(array[{_NAMES}]::pg_catalog.text[]) as s(name); end $$;
{PINNED.replace("set ", "set local ")};
"""
_PUT_BACK = """
do $$ begin perform set_config(s.key, s.value, true)
  from jsonb_each_text(current_setting('pgsched.before')::jsonb) as s; end $$;
"""


def sqlalchemy_url(url: str) -> str:
    """The same address for SQLAlchemy's psycopg dialect."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgresql", "postgres"} else url


def run(sql: str) -> None:
    """Runs (or, offline, prints) SQL text of any number of statements in the migration's transaction, pinned."""
    with pinned():
        _execute(sql)


@contextmanager
def pinned() -> Iterator[None]:
    """Has the transaction set as all sessions of pgsched are, and then as it was; where it fails it is over anyway."""
    _execute(_PIN)
    yield
    _execute(_PUT_BACK)


def _execute(sql: str) -> None:
    if context.is_offline_mode():
        context.get_context().impl.static_output(sql)  # as it is: compiled as a statement, its % would be doubled
        return
    _driver().execute(sql.encode())


def _driver() -> psycopg.Connection[Any]:
    driver = context.get_bind().connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("pgsched's migrations run over psycopg 3: use a postgresql+psycopg:// address")
    return driver


def before_upgrade() -> None:
    """Makes the schema and, where the migrating role may, the roles; from here on no other migration runs. Does nothing
    for a command that only looks, such as ``alembic current``."""
    if not _migrates():
        return
    with pinned():
        _execute("set local client_min_messages = warning;\nset local lock_timeout = '120s';")
        _execute(_SCHEMAS if context.is_offline_mode() else _ALONE)
        _execute("set local lock_timeout = '10s';")
        if context.is_offline_mode() or _may_create_roles():
            _execute(roles_sql())


def after_upgrade() -> None:
    """Replaces functions, views, triggers and rights by those of this release, unless they are these already.

    Does nothing for a command that only looks, nor where the tables that they are about are not there: as long as only
    versions of their own have been run.
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
        if not is_current(_driver()):
            replace(_driver())


def _migrates() -> bool:
    """Whether the command is on its way to a revision."""
    try:
        return context.get_revision_argument() is not None
    except KeyError:  # as ``current`` and ``revision`` have it
        return False


def _reached() -> list[str]:
    """What the version table says, which may be one of their own, found by the settings of their sessions."""
    return [head for head in context.get_context().get_current_heads() if head.startswith(f"{SCHEMA}_")]


def _record_revision(reached: list[str]) -> None:
    """Says in our own version table what was reached, for an environment that keeps its versions in another one."""
    bind = context.get_bind()
    bind.execute(text("delete from pgsched.schema_version where version_num <> all (:reached)"), {"reached": reached})
    bind.execute(
        text("insert into pgsched.schema_version select unnest(cast(:reached as text[])) on conflict do nothing"),
        {"reached": reached},
    )


def roles_sql() -> str:
    """The script that makes the roles, for whoever has CREATEROLE."""
    return files("pgsched.store").joinpath("roles.sql").read_text(encoding="utf-8")


def _may_create_roles() -> bool:
    found = context.get_bind().execute(
        text("select rolcreaterole or rolsuper from pg_catalog.pg_roles where rolname = current_user")
    )
    return bool(found.scalar())
