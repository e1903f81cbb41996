"""The revisions of the schema that this release carries, and whether a database is at the newest.

They are read from the version files as text: Alembic, which applies them, takes longer to import than all that a worker
or the API needs besides.
"""

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from pgsched.errors import SchemaMismatch
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
    return frozenset(_before_each())


@cache
def expected_revision() -> str:
    """The newest revision this release carries.

    Raises SchemaMismatch where an installation has lost its version files.
    """
    before = _before_each()
    newest = set(before) - set(before.values())
    if len(newest) != 1:
        raise SchemaMismatch("this installation carries no migrations; install pgsched again")
    return newest.pop()


def _before_each() -> dict[str, str | None]:
    """Each revision with the one that it comes after."""
    files = sorted((migrations_dir() / "versions").glob("*.py"))
    named = [_literals(file.read_text(encoding="utf-8")) for file in files]
    return {names["revision"]: names["down_revision"] for names in named}


def _literals(source: str) -> dict[str, Any]:
    """What is assigned to single names in a module, where that is a literal."""
    found = {}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                found[name] = value
    return found


def check_schema(connection: psycopg.Connection[Any]) -> None:
    """Raises SchemaMismatch unless the database is at this release's revision."""
    try:
        found = revisions(connection)
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


def revisions(connection: psycopg.Connection[Any]) -> list[str]:
    """The revisions that a database is at, with those of its own that another project keeps in the same table."""
    return [row[0] for row in connection.execute(statement("admin/revisions"))]
