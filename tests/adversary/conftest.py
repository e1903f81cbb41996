"""One installation for all attacks, on a server of its own, and the first client's figures where it is alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

import pgsched.store
from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests.adversary.house import House, as_login, house
from tests.adversary.turns import Turns
from tests.adversary.verdict import Figures, calm

_SETTINGS = {
    "fsync": "off",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_locks_per_transaction": "64",  # as PostgreSQL has it by default
    "max_prepared_transactions": "20",
    "max_notify_queue_pages": "64",
}
_ROLES = Path(pgsched.store.__file__).with_name("roles.sql")
_MIGRATOR = (
    "create role migrator login password 'x' in role pgsched_owner; alter role migrator set role = 'pgsched_owner';"
    " grant create on database pgsched to pgsched_owner"
)


@dataclass(frozen=True, slots=True)
class Scene:
    """Where attacks take place, and what is usual there."""

    house: House
    usual: Figures


@pytest.fixture(scope="session")
def attacked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """What is done to roles, to the notifications of all databases and to all locks is done to nobody else's tests."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("attacked") / "postgres", settings=_SETTINGS) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            connection.execute(_ROLES.read_bytes())
            connection.execute(_MIGRATOR.encode())
        migrate(as_login(running.url, "migrator"))
        yield running


@pytest.fixture(scope="session")
def scene(attacked_server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    turns = Turns(tmp_path_factory.getbasetemp().parent)
    with house(attacked_server.url, tmp_path_factory.mktemp("adversary"), turns) as built:
        yield Scene(built, calm(built))
