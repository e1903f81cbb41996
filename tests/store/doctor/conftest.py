"""A database of each test's own: what is broken in it is not mended by emptying it."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
