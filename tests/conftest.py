"""Provides a real PostgreSQL: each test process has a server with a migrated template, and each test gets a clean clone
of the template.

PGSCHED_TEST_POSTGRES selects the version: 18 (the default, from the wheel), or an installed one such as 15.
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
    "fsync": "off",  # a test server need not survive a crash of the machine; killing only the server loses nothing
    "full_page_writes": "off",  # as above; many would follow the checkpoint of each database copy
    "shared_buffers": "128MB",
    "max_connections": "200",
    "max_wal_size": "256MB",  # the files may be in memory
    "autovacuum_naptime": "60s",  # the default; a round examines all tables of all databases
    "max_prepared_transactions": "10",
}
_LONG = (
    "test_planning_laws",
    "test_lookup_plans",
    "test_the_guides_go_client",
    "test_each_example_accepts_only_genuine_callbacks",
    "test_calls_survive",
    "test_faults",
    "test_stopped_processes",
    "test_up_ends",
    "test_pages_browser",
    "test_the_site_builds_without_warnings",
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
    """Keeps temporary files in memory if there is room, because a third of the test time went into creating and
    removing files. The servers have several files per table."""
    if place := place_in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", place)
    gc.disable()  # until all tests are imported and collected, because nothing of that is garbage


def pytest_collection_finish() -> None:
    """Freezes the objects that exist after collection, so that the garbage collector does not scan them repeatedly."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the random order, but moves the longest tests to the front, so that no core waits for them at the end."""
    items.sort(key=lambda item: not any(name in item.nodeid for name in _LONG))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """The server that tests share. Tests that stop or kill a server start their own."""
    directory = tmp_path_factory.mktemp("server") / "postgres"
    with EmbeddedPostgres(directory, bin_dir=tested_bin_dir(), settings=_SETTINGS) as running:
        _log_in_quickly(running.url)
        yield running


def _log_in_quickly(url: str) -> None:
    """Stores the password with one hash iteration instead of 4096. The tests log in about twenty thousand times, and
    each login took longer than its test."""
    with psycopg.connect(url, autocommit=True) as connection:
        salt, password = secrets.token_bytes(16), connection.info.password.encode()
        salted = hashlib.pbkdf2_hmac("sha256", password, salt, 1)
        client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
        parts = [base64.b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server)]
        verifier = "SCRAM-SHA-256$1:{}${}:{}".format(*parts)
        connection.execute(sql.SQL("alter role current_user password {}").format(sql.Literal(verifier)))


def at(url: str) -> dict[str, str]:
    """Returns the environment for commands on this database. The URL contains a password, which no flag accepts."""
    return {"PGSCHED_DATABASE_URL": url}


def forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes pgsched's settings from the environment of commands in this test."""
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
    """The URL of a clean, migrated database for the exclusive use of the test."""
    with databases.lent() as url:
        yield url


@pytest.fixture(scope="module")
def module_url(databases: Databases) -> Iterator[str]:
    """The URL of a clean, migrated database that the tests of a file share. They use separate ids or clean up."""
    with databases.lent() as url:
        yield url


@pytest.fixture
def empty_database_url(janitor: Janitor) -> Iterator[str]:
    """The URL of a database that has never been migrated."""
    name = f"empty_{secrets.token_hex(6)}"
    with janitor.make(name):
        yield janitor.url_of(name)


Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    """An autocommit connection to the test's database."""
    with kept(database_url).connection() as connection:
        yield connection
