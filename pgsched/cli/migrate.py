"""``pgsched migrate``: upgrades the schema to this release, or prints the SQL."""

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
    "--replace", is_flag=True, help="Recreate functions, views, triggers and privileges, and missing indexes."
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
        reply.note(f"rebuilt {name}")
    reply.give({"revision": revision, "missing_roles": missing, **rebuilt}, _text(revision, missing))
    note_room(reply, settings)
    if missing:
        reply.note(
            f"the schema was migrated, but these roles could not be created: {', '.join(missing)}; create them, then "
            "run pgsched migrate again"
        )
        context.exit(1)


def note_room(reply: Reply, settings: Settings) -> None:
    """Prints a note if the server's lock table is too small, or if every login can fill it."""
    for remark in ask(settings, remarks):
        reply.note(remark)


def bring_up(url: str, *, anew: bool = False) -> tuple[str, list[str]]:
    """Migrates the database. Returns the new revision, and the roles that could not be created. Raises PgschedError."""
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
    "migrate as the role that owns pgsched (pgsched_owner, if it exists); pgsched doctor lists objects that another "
    "role owns, and pgsched migrate --replace, run by a superuser, restores their owner"
)


def _text(revision: str, missing: list[str]) -> str:
    if not missing:
        return f"the database is at {revision}"
    from pgsched.store.admin.upgrade_steps import roles_sql

    return (
        f"the database is at {revision}, but this role cannot create roles. Missing: {', '.join(missing)}.\n"
        f"Run this as a role that has CREATEROLE, then pgsched migrate again:\n\n{roles_sql().rstrip()}"
    )
