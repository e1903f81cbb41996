"""The API behind a pooler in transaction mode."""

from collections.abc import AsyncIterator

import httpx
import psycopg
import pytest
from psycopg import sql

from pgsched.api.app import create_app
from pgsched.api.connection_pool import Database
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.api.serving import serving
from tests.poolers.calls import call_at_once
from tests.poolers.conftest import Connection
from tests.poolers.pgbouncer import pgbouncer


@pytest.fixture
async def apis(transaction_url: str) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Two APIs, like two processes."""
    settings = Settings(database_url=transaction_url)
    async with serving(create_app(settings)) as one, serving(create_app(settings)) as other:
        yield [one, other]


async def test_concurrent_requests_through_a_pool_make_the_changes_they_report(
    apis: list[httpx.AsyncClient], db: Connection
) -> None:
    asked = await call_at_once(apis, 400)
    assert asked.differences(db) == []
    assert asked.calls >= 400


async def test_the_apis_timeouts_override_the_databases_timeouts(database_url: str, version: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as admin:
        if admin.info.server_version >= 170_000:
            name = sql.Identifier(admin.info.dbname)
            admin.execute(sql.SQL("alter database {} set transaction_timeout = '50ms'").format(name))
    with pgbouncer(database_url, "transaction", version=version) as pooler:
        database = Database(pooler.through(database_url), Events())
        await database.open()
        try:
            for _ in range(2):
                async with database.connection() as connection:
                    await connection.execute("select pg_sleep(0.1)")
        finally:
            await database.close()
