"""Lists the schema revisions in this release, and checks whether a database is at the newest.

Revisions are read from the version files as text, because importing Alembic takes long.

A process of an earlier release works on a later schema as long as nothing it uses has been removed. In ``serves_from``,
each version names the revision of the oldest release whose processes still work. A version that only adds something
repeats the previous version's value; a version that removes something names a later revision. Migrations record the
value in the database, because the earlier release does not have the version's file.
"""

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from pgsched.errors import SchemaMismatch
from pgsched.store.core.query import column, value
from pgsched.store.core.sql import statement

SCHEMA = "pgsched"
"""The schema that contains the version table. Revision names begin with the schema's name."""


def migrations_dir() -> Path:
    """Returns the directory of Alembic versions: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


@cache
def known_revisions() -> frozenset[str]:
    """Returns all revisions in this release."""
    return frozenset(_versions())


@cache
def expected_revision() -> str:
    """Returns the newest revision in this release.

    Raises SchemaMismatch if the installation has lost its version files.
    """
    versions = _versions()
    newest = set(versions) - {names["down_revision"] for names in versions.values()}
    if len(newest) != 1:
        raise SchemaMismatch("this installation contains no migrations; install pgsched again")
    return newest.pop()


def serves_from() -> str:
    """Returns the revision of the oldest release whose processes work on this release's schema."""
    found: str = _versions()[expected_revision()]["serves_from"]
    return found


def _versions() -> dict[str, dict[str, Any]]:
    """Returns what each version file declares, by revision."""
    files = sorted((migrations_dir() / "versions").glob("*.py"))
    named = [_literals(file.read_text(encoding="utf-8")) for file in files]
    return {names["revision"]: names for names in named}


def _literals(source: str) -> dict[str, Any]:
    """Returns the literals that a module assigns to plain names."""
    found = {}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=literal)):
                found[name] = literal
    return found


def check_schema(connection: psycopg.Connection[Any]) -> None:
    """Raises SchemaMismatch unless the database is at this release's revision, or at a later one that still serves this
    release."""
    try:
        found = revisions(connection)
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        raise SchemaMismatch("the database has no pgsched schema yet: run pgsched migrate") from None
    if expected_revision() in found:
        return
    row = connection.execute(statement("admin/fact"), {"fact": "serves from"}).fetchone()
    if not serves(found, row[0] if row else None):
        raise mismatch(found)


async def is_served(connection: psycopg.AsyncConnection[Any], found: Sequence[str]) -> bool:
    """Whether a database at these revisions has this release's schema, or a later one that still serves it."""
    return expected_revision() in found or serves(found, await value(connection, "admin/fact", fact="serves from"))


def serves(found: Sequence[str], since: str | None) -> bool:
    """Whether this release works on a schema at these later revisions. ``since`` is the revision of the oldest release
    that the schema serves."""
    return is_newer(found) and since in known_revisions()


def is_newer(found: Sequence[str]) -> bool:
    """Whether any of these revisions is newer than those that this release knows."""
    return any(revision not in known_revisions() and not _is_before(revision) for revision in found)


def _is_before(revision: str) -> bool:
    return revision.startswith(f"{SCHEMA}_") and revision < expected_revision()


def newest_of(found: Sequence[str]) -> str | None:
    """Returns the newest pgsched revision among these, or None."""
    return max((revision for revision in found if revision.startswith(f"{SCHEMA}_")), default=None)


def mismatch(found: Sequence[str]) -> SchemaMismatch:
    """Returns an error that says what to do about a database that is not at this release's revision but at these."""
    there = ", ".join(found) or "no revision"
    if is_newer(found):
        return SchemaMismatch(
            f"the database is at {there}, which belongs to a newer release: install that release or a later one"
        )
    return SchemaMismatch(
        f"the database is at {there}, but this release needs {expected_revision()}: run pgsched migrate"
    )


def revisions(connection: psycopg.Connection[Any]) -> list[str]:
    """Returns the database's revisions, including those that another project keeps in the same table."""
    return [row[0] for row in connection.execute(statement("admin/revisions"))]


async def revisions_async(connection: psycopg.AsyncConnection[Any]) -> list[str]:
    """Async version of ``revisions``."""
    return await column(connection, "admin/revisions")
