"""One database for all cells, with a clock set by hand, and one worker that keeps its prepared statements."""

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
import pytest_asyncio

from pgsched.store.core import connect
from tests.store.schedule.cells.stage import CLOCK, Stage

_EMPTY = """
delete from pgsched.executions; delete from pgsched.jobs; delete from pgsched.history; delete from pgsched.attempts;
delete from pgsched.dependencies;
"""


@pytest.fixture(scope="module")
def clock_url(module_url: str) -> str:
    with psycopg.connect(module_url, autocommit=True) as connection:
        connection.execute(CLOCK)
    return module_url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def claiming(clock_url: str) -> AsyncIterator[connect.Connection]:
    connection = await connect.connect(clock_url, "test")
    yield connection
    await connection.close()


@pytest.fixture(scope="module")
def watching(clock_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(clock_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def stage(claiming: connect.Connection, watching: psycopg.Connection[tuple[object, ...]]) -> Iterator[Stage]:
    yield Stage(db=watching, worker=claiming)
    watching.execute(_EMPTY)
