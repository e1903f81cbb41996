"""One database for the tests of the store, emptied after each: a clone for each of hundreds would take minutes."""

import secrets
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from pgsched.store.core import connect
from tests.store.store_arrange import Connection, schedule

_EMPTY = """
delete from pgsched_internal.keys;
delete from pgsched.executions; delete from pgsched.jobs; delete from pgsched.history; delete from pgsched.attempts;
delete from pgsched.dependencies; delete from pgsched.audit_log; delete from pgsched_internal.kept_dead_letters;
delete from pgsched_internal.ends_to_mark; delete from pgsched_internal.results_to_record;
delete from pgsched.replays; update pgsched.clients set dead_letter_target = null, dead_letters_for = default;
delete from pgsched_internal.gates; delete from pgsched.blocked_keys;
delete from pgsched.workers; delete from pgsched.clients where client_id <> 'default';
"""


@pytest.fixture(scope="module")
def module_url(janitor: Any, template: str) -> Iterator[str]:
    """The address of a database of this file's own."""
    name = f"store_{secrets.token_hex(6)}"
    with janitor.make(name, template=template):
        yield janitor.url_of(name)


@pytest.fixture
def store_url(module_url: str) -> Iterator[str]:
    """The address of a migrated database that is empty before the test; it has the default queue only."""
    yield module_url
    with psycopg.connect(module_url, autocommit=True) as connection:
        connection.execute(_EMPTY)


@pytest.fixture
def db(store_url: str) -> Iterator[Connection]:
    """A connection in autocommit to the test's database."""
    with psycopg.connect(store_url, autocommit=True) as connection:
        yield connection


@pytest_asyncio.fixture
async def worker(store_url: str) -> AsyncIterator[connect.Connection]:
    """A worker's connection, which speaks the wire format of the hot path."""
    connection = await connect.connect(store_url, "test")
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def planning(store_url: str) -> AsyncIterator[connect.Connection]:
    """A connection such as a backfiller has."""
    connection = await connect.connect(store_url, "test", raw=False)
    yield connection
    await connection.close()


@pytest.fixture
def hourly(db: Connection) -> UUID:
    """A job that fires at each full hour."""
    return schedule(db, cron="0 * * * *", target="python:report")
