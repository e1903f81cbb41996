"""``pgsched migrate``: the schema, brought to this release or printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from pgsched.cli.database_connection import ask, explained
from pgsched.cli.reply import Reply, json_option
from pgsched.cli.settings_flags import DATABASE, load_settings, settings_options, with_database
from pgsched.errors import Refused
from pgsched.settings import Settings
from pgsched.store.admin.schema_revisions import expected_revision
from pgsched.store.core.lock_capacity import remarks


@click.command()
@settings_options(DATABASE)
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL for a database administrator and change nothing.")
@click.option(
    "--replace", is_flag=True, help="Recreate functions, views, triggers and privileges, and indexes that are missing."
)
@json_option
@click.pass_context
def migrate(context: click.Context, /, as_sql: bool, replace: bool, **flags: Any) -> None:
    """Upgrade the database schema to this release. Safe to repeat."""
    reply: Reply = context.obj
    settings = load_settings(flags)
    if as_sql:
        from pgsched.store.admin.migrate import migration_sql

        sql = migration_sql()
        reply.give({"sql": sql}, sql.rstrip())
        return
    settings = with_database(settings)
    url = settings.database_url or ""
    revision, missing = bring_up(url, anew=replace)
    rebuilt = {"indexes": _rebuild(url)} if replace else {}
    for name in rebuilt.get("indexes", ()):
        reply.note(f"{name} was built again")
    reply.give({"revision": revision, "missing_roles": missing, **rebuilt}, _text(revision, missing))
    note_room(reply, settings)
    if missing:
        reply.note(f"not done: roles are missing: {', '.join(missing)}")
        context.exit(1)


def note_room(reply: Reply, settings: Settings) -> None:
    """Remarks that the server has too little room for locks, or that any login may fill it, where that is so."""
    for remark in ask(settings, remarks):
        reply.note(remark)


def bring_up(url: str, *, anew: bool = False) -> tuple[str, list[str]]:
    """Migrates; returns the revision reached and the roles that could not be made. Raises PgschedError."""
    from pgsched.store.admin.migrate import migrate as upgrade

    with _explained():
        return expected_revision(), upgrade(url, anew=anew)


def _rebuild(url: str) -> list[str]:
    from pgsched.store.admin.indexes import rebuild_indexes

    with _explained():
        return rebuild_indexes(url)


@contextmanager
def _explained() -> Iterator[None]:
    with explained():
        try:
            yield
        except Exception as error:
            refused: Any = getattr(error, "orig", error)
            if getattr(refused, "sqlstate", None) == "42501":
                raise Refused(f"{refused.diag.message_primary}; {_MAY}") from error
            raise


_MAY = (
    "migrate as the role that owns pgsched, which is pgsched_owner where it is there. pgsched doctor says what another "
    "role owns; pgsched migrate --replace, run by a superuser, gives it back"
)


def _text(revision: str, missing: list[str]) -> str:
    if not missing:
        return f"the database is at {revision}"
    from pgsched.store.admin.upgrade_steps import roles_sql

    return (
        f"the database is at {revision}, but this role may not create roles; {', '.join(missing)} are missing.\n"
        f"Run this as a role that has CREATEROLE, then pgsched migrate again:\n\n{roles_sql().rstrip()}"
    )
