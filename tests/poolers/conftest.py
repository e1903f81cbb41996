"""PgBouncer in front of the test's database."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.poolers.pgbouncer import VERSIONS, pgbouncer

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def transaction_url(database_url: str, version: str) -> Iterator[str]:
    """The URL of the test's database through a pool in transaction mode."""
    with pgbouncer(database_url, "transaction", version=version) as pooler:
        yield pooler.through(database_url)


@pytest.fixture
def session_url(database_url: str, version: str) -> Iterator[str]:
    """The URL of the test's database through a pool in session mode."""
    with pgbouncer(database_url, "session", version=version) as pooler:
        yield pooler.through(database_url)


@pytest.fixture
def statement_url(database_url: str, version: str) -> Iterator[str]:
    """The URL of the test's database through a pool in statement mode."""
    with pgbouncer(database_url, "statement", version=version) as pooler:
        yield pooler.through(database_url)
