"""Arrange queues. Tests of queues need a private database, since a queue has tables."""

from typing import Any

import psycopg

from tests.store.store_arrange import Connection, call


def queue(db: Connection, name: str, **changes: Any) -> int:
    """Create a queue and return its first partition."""
    first = call(db, "create_queue", name=name, changes=changes)
    assert isinstance(first, int)
    return first


def fill(db: Connection, name: str) -> None:
    """Mark a queue as full, as the worker that counts it does."""
    db.execute("update pgsched.queues set max_waiting = 1, full_since = now() where name = %s", [name])


def session(url: str) -> Connection:
    return psycopg.connect(url, autocommit=True)
