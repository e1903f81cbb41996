"""A real PostgreSQL: one server a test process, one migrated template, for each test a clone of it, or one as good.

PGSCHED_TEST_POSTGRES says which: 18 (the wheel's, the default) or 15 (an installed one).
"""

import base64
import gc
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.store.admin.migrate import migrate
from tests.databases import Databases, Janitor, kept, lending
from tests.in_memory import place_in_memory
from tests.installed import find_bin_dir

_SETTINGS = {
    "fsync": "off",  # a test's server does not survive the machine; killing the server itself loses nothing
    "full_page_writes": "off",  # likewise; each copy of a database begins with a checkpoint, after which they are many
    "shared_buffers": "128MB",
    "max_connections": "200",
    "max_wal_size": "256MB",  # it may be in memory
    "autovacuum_naptime": "5s",
    "max_prepared_transactions": "10",
}
_LONG = (
    "test_planning_laws",
    "test_lookup_plans",
    "test_the_go_of_the_page",
    "test_each_example_takes_what_is_genuine",
    "test_calls_survive",
    "test_faults",
    "test_stopped_processes",
    "test_quarantine",
    "test_up_ends",
    "test_pages_browser",
    "test_the_site_is_built",
)


def tested_bin_dir() -> Path:
    wanted = os.environ.get("PGSCHED_TEST_POSTGRES", "18")
    if wanted == "18":
        return bundled_bin_dir()
    found = find_bin_dir(int(wanted))
    if found is None:
        raise RuntimeError(f"PostgreSQL {wanted} is not installed: install it, or unset PGSCHED_TEST_POSTGRES")
    return found


def pytest_configure() -> None:
    """Files of tests are in memory, where there is room: a third of all their time went into making and removing files,
    of which the servers have a few for each table."""
    if place := place_in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", place)
    gc.disable()  # until all is imported and collected, none of which is garbage


def pytest_collection_finish() -> None:
    """Thousands of tests and all that is imported are there to stay: they are not looked through again and again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In random order but for what takes longest: that begins at once, so that no core waits for it at the end."""
    items.sort(key=lambda item: not any(name in item.nodeid for name in _LONG))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """The server the tests share. Tests that stop or kill a server start one of their own."""
    directory = tmp_path_factory.mktemp("server") / "postgres"
    with EmbeddedPostgres(directory, bin_dir=tested_bin_dir(), settings=_SETTINGS) as running:
        _log_in_quickly(running.url)
        yield running


def _log_in_quickly(url: str) -> None:
    """The password is hashed once, not 4096 times: each of some twenty thousand logins took longer than its test."""
    with psycopg.connect(url, autocommit=True) as connection:
        salt, password = secrets.token_bytes(16), connection.info.password.encode()
        salted = hashlib.pbkdf2_hmac("sha256", password, salt, 1)
        client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
        parts = [base64.b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server)]
        verifier = "SCRAM-SHA-256$1:{}${}:{}".format(*parts)
        connection.execute(sql.SQL("alter role current_user password {}").format(sql.Literal(verifier)))


def at(url: str) -> dict[str, str]:
    """The environment of commands on this database: its address has a password, which no flag takes."""
    return {"PGSCHED_DATABASE_URL": url}


def forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the test read no setting from its environment."""
    for name in list(os.environ):
        if name.startswith("PGSCHED_") and not name.startswith("PGSCHED_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def janitor(server: EmbeddedPostgres) -> Iterator[Janitor]:
    made = Janitor(server.url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def template(janitor: Janitor) -> Iterator[str]:
    with janitor.make("pgsched_template", as_template=True):
        migrate(janitor.url_of("pgsched_template"))
        yield "pgsched_template"


@pytest.fixture(scope="session")
def databases(janitor: Janitor, template: str) -> Iterator[Databases]:
    with lending(janitor, template) as found:
        yield found


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """The address of a fresh, migrated database that is this test's own for as long as it runs."""
    with databases.lent() as url:
        yield url


@pytest.fixture(scope="module")
def module_url(databases: Databases) -> Iterator[str]:
    """The address of such a database that is its file's own: the tests there share it, and keep apart or clean up."""
    with databases.lent() as url:
        yield url


@pytest.fixture
def empty_database_url(janitor: Janitor) -> Iterator[str]:
    """The address of a database in which pgsched was never migrated."""
    name = f"empty_{secrets.token_hex(6)}"
    with janitor.make(name):
        yield janitor.url_of(name)


Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    """A connection in autocommit to the test's database."""
    with kept(database_url).connection() as connection:
        yield connection
