"""Whether a database follows another one by logical replication."""

from typing import Any

import psycopg

from pgsched.errors import Conflict
from pgsched.store.core.sql import statement


def check_not_following(connection: psycopg.Connection[Any]) -> None:
    """Raises Conflict while executions arrive from another database: the workers there call their targets."""
    if found := [row[0] for row in connection.execute(statement("core/subscriptions"))]:
        raise Conflict(
            f"executions arrive here from another database, by the subscription {', '.join(found)}: run workers there,"
            " or stop them and drop the subscription before any begins here"
        )
