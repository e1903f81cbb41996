"""How long a request may wait for the database: one limit for a connection, one for all together."""

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

_PATIENCE = 4.0  # the driver alone waits for five seconds until a statement is cancelled


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    """With one connection. A test sets shorter waits than usual only when it has what it needs: to get that may take
    longer."""
    database = Database(url, Events(), most=1)
    await database.open()
    await database._pool.wait()
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _standing_still(pid: int) -> AsyncIterator[None]:
    """A process of the server, as one is whose machine is gone."""
    os.kill(pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(_PATIENCE):
            yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_request_ends_when_no_connection_becomes_free(database_url: str) -> None:
    async with _opened(database_url) as database, database.connection():
        database._wait = 0.1
        with pytest.raises(Unavailable, match=r"no connection was free within 0.1 s"):
            async with database.connection():
                pass


async def test_a_page_waits_for_its_turn_no_longer_than_for_a_connection(database_url: str) -> None:
    async with _opened(database_url) as database, database.page():
        database._wait = 0.1
        with pytest.raises(Unavailable, match=r"within 0.1 s"):
            async with database.page():
                pass


async def test_a_statement_that_is_neither_answered_nor_cancelled_ends_with_the_requests_time(
    database_url: str,
) -> None:
    async with _opened(database_url) as database:
        async with database.connection() as connection:
            pid = connection.info.backend_pid
        database._longest = 0.3
        async with _standing_still(pid):
            with pytest.raises(Unavailable, match=r"did not answer within 0.3 s"):
                async with database.connection() as connection:
                    await connection.execute("select 1")


async def test_a_connection_that_cannot_be_checked_is_waited_for_no_longer_than_for_a_free_one(
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


async def test_what_one_client_has_computed_keeps_no_other_waiting(database_url: str) -> None:
    shop, both, billing = (
        Grant(subject="test", clients=frozenset(clients), scopes=frozenset())
        for clients in (["shop"], ["shop", "stock"], ["billing"])
    )
    async with _opened(database_url) as database:
        database._wait = 0.1
        async with database.acting(shop).computing():
            for grant in (shop, both):
                with pytest.raises(Unavailable, match="your other requests"):
                    async with database.acting(grant).computing():
                        pass
            async with database.acting(billing).computing():
                pass


async def test_who_is_cancelled_meanwhile_is_not_told_of_a_limit(database_url: str) -> None:
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
