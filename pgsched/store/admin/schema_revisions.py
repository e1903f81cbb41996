"""The revisions of the schema that this release carries, and whether a database is at the newest.

They are read from the version files as text: Alembic, which applies them, takes longer to import than all that a worker
or the API needs besides.

A process of an earlier release works on a later schema as long as nothing that it uses was taken out of that. Each
version says by ``serves_from`` how far back that goes: it names the revision of the oldest release whose processes work
on it. A version that only adds names the same as the one before it, one that takes something out names a later
revision. Migrations record it in the database, for the earlier release does not have the file.
"""

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from pgsched.errors import SchemaMismatch
from pgsched.store.core.query import value
from pgsched.store.core.sql import statement

SCHEMA = "pgsched"
"""It has the table of versions, and the names of revisions begin with it."""


def migrations_dir() -> Path:
    """Where the Alembic versions are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


@cache
def known_revisions() -> frozenset[str]:
    """All revisions that this release carries, the newest and what came before it."""
    return frozenset(_versions())


@cache
def expected_revision() -> str:
    """The newest revision this release carries.

    Raises SchemaMismatch where an installation has lost its version files.
    """
    versions = _versions()
    newest = set(versions) - {names["down_revision"] for names in versions.values()}
    if len(newest) != 1:
        raise SchemaMismatch("this installation carries no migrations; install pgsched again")
    return newest.pop()


def serves_from() -> str:
    """The revision of the oldest release whose processes work on this release's schema."""
    found: str = _versions()[expected_revision()]["serves_from"]
    return found


def _versions() -> dict[str, dict[str, Any]]:
    """What each version says of itself, by its revision."""
    files = sorted((migrations_dir() / "versions").glob("*.py"))
    named = [_literals(file.read_text(encoding="utf-8")) for file in files]
    return {names["revision"]: names for names in named}


def _literals(source: str) -> dict[str, Any]:
    """What is assigned to single names in a module, where that is a literal."""
    found = {}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=literal)):
                found[name] = literal
    return found


def check_schema(connection: psycopg.Connection[Any]) -> None:
    """Raises SchemaMismatch unless the database is at this release's revision, or at a later one that serves it."""
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
    """Whether a database that is at these revisions has the schema of this release, or a later one that serves it."""
    return expected_revision() in found or serves(found, await value(connection, "admin/fact", fact="serves from"))


def serves(found: Sequence[str], since: str | None) -> bool:
    """Whether processes of this release work on a schema at these later revisions, which serves releases ``since``."""
    return is_newer(found) and since in known_revisions()


def is_newer(found: Sequence[str]) -> bool:
    """Whether a database has a revision that this release does not know, nor comes after."""
    return any(revision not in known_revisions() and not _is_before(revision) for revision in found)


def _is_before(revision: str) -> bool:
    return revision.startswith(f"{SCHEMA}_") and revision < expected_revision()


def newest_of(found: Sequence[str]) -> str | None:
    """The last of these revisions that is pgsched's; None where none is."""
    return max((revision for revision in found if revision.startswith(f"{SCHEMA}_")), default=None)


def mismatch(found: Sequence[str]) -> SchemaMismatch:
    """What is to be done about a database that is at these revisions, and not at this release's."""
    there = ", ".join(found) or "no revision"
    if is_newer(found):
        return SchemaMismatch(
            f"the database is at {there}, of a newer release than this one: install that release or a later one"
        )
    return SchemaMismatch(f"the database is at {there}, this release needs {expected_revision()}: run pgsched migrate")


def revisions(connection: psycopg.Connection[Any]) -> list[str]:
    """The revisions that a database is at, with those of its own that another project keeps in the same table."""
    return [row[0] for row in connection.execute(statement("admin/revisions"))]
