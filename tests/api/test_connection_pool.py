"""Limits on how long a request waits for the database: for a connection, and for the whole request."""

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from pgsched.api.connection_pool import Database
from pgsched.domain.api_key import Grant
from pgsched.errors import Unavailable
from pgsched.telemetry import Events

_PATIENCE = 4.0  # the driver waits for five seconds before it gives up on cancelling a statement


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    """Opens a pool of one connection. Tests shorten the waits after opening, because connecting can take longer."""
    database = Database(url, Events(), most=1)
    await database.open()
    await database._pool.wait()
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _standing_still(pid: int) -> AsyncIterator[None]:
    """Suspends a server process, as if its machine were lost."""
    os.kill(pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(_PATIENCE):
            yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_request_fails_when_no_connection_becomes_free(database_url: str) -> None:
    async with _opened(database_url) as database, database.connection():
        database._wait = 0.1
        with pytest.raises(Unavailable, match=r"no connection to the database was available within 0.1 s"):
            async with database.connection():
                pass


async def test_a_page_query_fails_when_no_page_slot_becomes_free(database_url: str) -> None:
    async with _opened(database_url) as database, database.page():
        database._wait = 0.1
        with pytest.raises(Unavailable, match=r"within 0.1 s"):
            async with database.page():
                pass


async def test_a_statement_without_an_answer_fails_at_the_request_timeout(
    database_url: str,
) -> None:
    async with _opened(database_url) as database:
        async with database.connection() as connection:
            pid = connection.info.backend_pid
        database._longest = 0.3
        async with _standing_still(pid):
            with pytest.raises(Unavailable, match=r"did not respond within 0.3 s"):
                async with database.connection() as connection:
                    await connection.execute("select 1")


async def test_checking_a_hung_connection_fails_at_the_wait_limit(
    database_url: str,
) -> None:
    async with _opened(database_url) as database:
        async with database.connection() as connection:
            await connection.execute("listen something_was_said")
            pid, socket = connection.info.backend_pid, connection.fileno()
        with psycopg.connect(database_url, autocommit=True) as other:
            other.execute("notify something_was_said")
        assert await asyncio.to_thread(select.select, [socket], [], [], 10) != ([], [], [])
        database._wait = 0.3
        async with _standing_still(pid):
            with pytest.raises(Unavailable, match=r"within 0.3 s"):
                async with database.connection():
                    pass


async def test_one_clients_computation_does_not_block_another_client(database_url: str) -> None:
    shop, both, billing = (
        Grant(subject="test", clients=frozenset(clients), scopes=frozenset())
        for clients in (["shop"], ["shop", "stock"], ["billing"])
    )
    async with _opened(database_url) as database:
        database._wait = 0.1
        async with database.acting(shop).computing():
            for grant in (shop, both):
                with pytest.raises(Unavailable, match="your client's other requests"):
                    async with database.acting(grant).computing():
                        pass
            async with database.acting(billing).computing():
                pass


async def test_a_cancelled_request_is_not_reported_as_unavailable(database_url: str) -> None:
    async with _opened(database_url) as database:
        reached = asyncio.Event()

        async def ask() -> None:
            async with database.connection() as connection:
                reached.set()
                await connection.execute("select pg_sleep(60)")

        asked = asyncio.create_task(ask())
        await reached.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with database.connection() as connection:
            await connection.execute("select 1")
