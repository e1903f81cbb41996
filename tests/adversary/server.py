"""A separate server for attacks, so that attacks on roles, notifications and locks do not affect other tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import pgsched.store
from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.adversary.house import as_login

_SETTINGS = {
    "fsync": "off",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_locks_per_transaction": "64",  # PostgreSQL's default
    "max_prepared_transactions": "20",
    "max_notify_queue_pages": "64",
}
_ROLES = Path(pgsched.store.__file__).with_name("roles.sql")
_MIGRATOR = (
    "create role migrator login password 'x' in role pgsched_owner; alter role migrator set role = 'pgsched_owner';"
    " grant create on database pgsched to pgsched_owner"
)


@contextmanager
def attacked(directory: Path) -> Iterator[EmbeddedPostgres]:
    """Runs a server with pgsched's roles and tables in this directory."""
    with EmbeddedPostgres(directory, settings=_SETTINGS) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            connection.execute(_ROLES.read_bytes())
            connection.execute(_MIGRATOR.encode())
        migrate(as_login(running.url, "migrator"))
        yield running
