"""One database for the tests of a file, emptied after each test. A clone for each test would take minutes."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from pgsched.store.core import connect
from tests.databases import kept
from tests.kept_sessions import KeptConnection
from tests.store.store_arrange import Connection, acting, login_role, schedule

_EMPTIED = [
    "pgsched_internal.keys",
    "pgsched.executions",
    "pgsched.jobs",
    "pgsched.history",
    "pgsched.attempts",
    "pgsched.dependencies",
    "pgsched_internal.kept_dead_letters",
    "pgsched.rollups",
    "pgsched_internal.counts_to_roll_up",
    "pgsched_internal.ends_to_mark",
    "pgsched_internal.results_to_record",
    "pgsched.bulk_operations",
    "pgsched_internal.gates",
    "pgsched_internal.api_keys",
    "pgsched.blocked_keys",
    "pgsched.workers",
]
_EMPTY = [
    *(f"delete from {table}".encode() for table in _EMPTIED),
    b"update pgsched.clients set dead_letter_target = null, dead_letters_for = default",
    b"delete from pgsched.clients where client_id <> 'default'",
    b"update pgsched.queues set full_since = null where full_since is not null",
    b"delete from pgsched.audit_log",  # last, since the statements above are logged
]

_NEED_NEW_SESSIONS = {
    "test_claimed_next_rows",
    "test_gate_plans",
    "test_kept_plans",
    "test_plans",
    "test_planning",
    "test_session_settings",
    "test_statements",
}
"""Test files that check which plans sessions make, and how sessions begin."""


@pytest.fixture(scope="module")
def emptier(module_url: str) -> Iterator[Connection]:
    """A session kept for a whole file, so that the statements that empty the database are planned once."""
    with psycopg.connect(module_url, autocommit=True, application_name="between tests") as connection:
        yield connection


@pytest.fixture
def store_url(module_url: str, emptier: Connection) -> Iterator[str]:
    """The URL of a migrated database that is empty but for the default queue and client."""
    yield module_url
    with emptier.transaction(), emptier.pipeline():
        for statement in _EMPTY:
            emptier.execute(statement, prepare=True)


@pytest.fixture
def db(store_url: str) -> Iterator[Connection]:
    """An autocommit connection to the test's database."""
    with kept(store_url).connection() as connection:
        yield connection


@pytest.fixture(autouse=True)
def _kept_sessions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep workers' sessions, with the statements they have planned, for the next test."""
    if request.path.stem not in _NEED_NEW_SESSIONS:
        monkeypatch.setattr(connect, "AsyncConnection", KeptConnection)


@pytest_asyncio.fixture
async def worker(store_url: str) -> AsyncIterator[connect.Connection]:
    """A worker's connection, which uses the wire format of the hot path."""
    connection = await connect.connect(store_url, "test")
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def planning(store_url: str) -> AsyncIterator[connect.Connection]:
    """A connection as the worker's background services use it, without the wire format of the hot path."""
    connection = await connect.connect(store_url, "test", raw=False)
    yield connection
    await connection.close()


@pytest.fixture
def hourly(db: Connection) -> UUID:
    """A job that fires at each full hour."""
    return schedule(db, cron="0 * * * *", target="python:report")


@pytest.fixture
def payments(db: Connection, store_url: str) -> Iterator[Connection]:
    """A session with the role of the client payments. There is also a client billing, without a role."""
    role = login_role(db, "pgsched_client")
    db.execute(
        "insert into pgsched.clients (client_id, database_role) values ('payments', %s), ('billing', null)", [role]
    )
    with contextlib.closing(acting(store_url, role)) as session:
        yield session
    db.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(role)))
