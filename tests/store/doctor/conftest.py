"""A private database for each test, since emptying a shared one would not repair what a test breaks."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
