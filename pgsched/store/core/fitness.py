"""Checks that a database is fit for pgsched: its settings are suitable, and no rows are replicated into it."""

from typing import Any, NamedTuple

import psycopg

from pgsched.errors import Conflict, InvalidSettings, Unavailable
from pgsched.store.core import query
from pgsched.store.core.sql import statement

OLDEST = 15
READ_ONLY = (
    "the database accepts no writes: it is a replica, or is set to be read-only. Give the address of the primary, "
    "such as "
    "postgresql://user@host1,host2/database?target_session_attrs=read-write; or, if it is the primary, run "
    "alter database … reset default_transaction_read_only, or the same for the role or the system"
)


class DatabaseSettings(NamedTuple):
    """The result row of ``core/database_settings``."""

    major: int
    encoding: str
    in_recovery: bool
    read_only: bool
    replication_role: str
    variable_conflict: str
    extra_errors: str

    @property
    def takes_no_writes(self) -> bool:
        return self.in_recovery or self.read_only


def check_fitness(connection: psycopg.Connection[Any]) -> None:
    """Raises InvalidSettings if pgsched cannot run in the database, and Unavailable if the database takes no writes."""
    connection.execute("do 'begin end'")
    row = connection.execute(statement("core/database_settings")).fetchone()
    assert row is not None
    found = DatabaseSettings(*row)
    if found.takes_no_writes:
        raise Unavailable(READ_ONLY)
    if problem := problem_of(found):
        raise InvalidSettings(f"pgsched cannot run in this database: {problem}")


def check_not_following(connection: psycopg.Connection[Any]) -> None:
    """Raises Conflict if executions are replicated into this database. The workers of the source already call their
    targets."""
    if found := [row[0] for row in connection.execute(statement("core/subscriptions"))]:
        raise Conflict(
            f"executions are replicated here from another database, by the subscription {', '.join(found)}: run "
            "workers there, or stop them, drop the subscription, and start workers here"
        )


def problem_of(found: DatabaseSettings) -> str | None:
    """Returns why pgsched cannot use a database with these settings, or None if it can."""
    if found.major < OLDEST:
        return f"its server is PostgreSQL {found.major}; it must be {OLDEST} or later"
    if found.encoding != "UTF8":
        return (
            f"its encoding is {found.encoding}, which cannot store every payload and name. Create a database that "
            "is encoded in UTF-8: create database … encoding 'UTF8' template template0"
        )
    for name, value, wanted in (
        ("session_replication_role", found.replication_role, "origin"),
        ("plpgsql.variable_conflict", found.variable_conflict, "error"),
        ("plpgsql.extra_errors", found.extra_errors, "none"),
    ):
        if value != wanted:
            return (
                f"{name} is {value}, but it must be {wanted} in all sessions that use pgsched: "
                f"alter database … reset {name}, or the same for the role"
            )
    return None


async def takes_writes(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether the database accepts writes. A replica does not, nor does a read-only database."""
    return bool(await query.value(connection, "core/takes_writes"))
