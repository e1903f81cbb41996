"""Each connection of pgsched has timeouts for locks and idle transactions, and keepalives by which either side notices
that the other has vanished."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from pgsched.api.connection_pool import Database
from pgsched.delivery.handler_transaction import TransactionalCompletion
from pgsched.domain.api_key import Grant
from pgsched.store.core.client_role_sessions import Sessions
from pgsched.store.core.connect import connect
from pgsched.store.core.new_connection import lending, transaction_async
from pgsched.telemetry import Events
from tests.docs.fences import ROOT

Opened = AsyncIterator[psycopg.AsyncConnection[Any]]

_BOUNDS = """
select current_setting('statement_timeout'), current_setting('lock_timeout'),
       current_setting('idle_in_transaction_session_timeout'), current_setting('client_connection_check_interval'),
       current_setting('tcp_keepalives_idle')"""


@asynccontextmanager
async def _of_a_worker(url: str) -> Opened:
    connection = await connect(url, "test")
    yield connection
    await connection.close()


@asynccontextmanager
async def _of_the_api(url: str) -> Opened:
    database = Database(url, Events())
    await database.open()
    async with database.acting(Grant(subject="test", clients=None, scopes=frozenset())).connection() as connection:
        yield connection
    await database.close()


@asynccontextmanager
async def _of_a_command(url: str) -> Opened:
    async with transaction_async(url) as connection:
        yield connection


@asynccontextmanager
async def _of_several_queries(url: str) -> Opened:
    async with lending(url) as lend, lend() as connection:
        yield connection


@asynccontextmanager
async def _of_a_handler(url: str) -> Opened:
    completion = TransactionalCompletion(url, connections=1)
    await completion._pool.open()
    async with completion._pool.connection() as connection:
        yield connection
    await completion.close()


_KINDS: dict[Callable[..., Any], tuple[str, ...]] = {
    _of_a_worker: ("30s", "250ms", "30s", "0", "10"),
    _of_the_api: ("15s", "10s", "150s", "0", "10"),
    _of_a_command: ("0", "30s", "5min", "2s", "10"),
    _of_several_queries: ("0", "30s", "5min", "2s", "10"),
    _of_a_handler: ("0", "0", "0", "2s", "10"),
}


@pytest.mark.parametrize("opened", _KINDS, ids=lambda opened: opened.__name__)
async def test_each_kind_of_connection_has_timeouts_and_keepalives(
    database_url: str, opened: Callable[..., Any]
) -> None:
    async with opened(database_url) as connection:
        assert await (await connection.execute(_BOUNDS)).fetchone() == _KINDS[opened]
        parameters = connection.info.get_parameters()
        assert (parameters["keepalives_idle"], parameters["tcp_user_timeout"]) == ("10", "10000")
        assert int(parameters["connect_timeout"]) <= 10


async def test_client_role_sessions_have_timeouts_and_keepalives(database_url: str) -> None:
    found: list[Any] = []

    async def ask(connection: psycopg.AsyncConnection[Any]) -> None:
        found.append(await (await connection.execute(_BOUNDS)).fetchone())

    sessions = Sessions(database_url, "", most=1)
    await sessions.work("any", ask)
    await sessions.close()
    assert found == [("30s", "0", "30s", "2s", "10")]


_MADE = re.compile(r"(?:psycopg|\b[A-Z]\w*)\.connect\(|ConnectionPool(?:\[.*\])?\($", re.M)
_WHERE = {
    "api/long_polls.py", "api/connection_pool.py", "delivery/handler_transaction.py", "store/core/connect.py",
    "store/core/client_role_sessions.py", "store/core/new_connection.py",
    # for one query, with a timeout
    "store/admin/up_logins.py", "store/core/timeline_fencing.py", "store/core/pooler.py",
    "store/doctor/database_connection.py", "embedded/server.py",
}  # fmt: skip


def test_only_the_listed_modules_open_connections() -> None:
    package = ROOT / "pgsched"
    modules = [
        file
        for file in package.rglob("*.py")
        if file.relative_to(package).parts[0] not in {"bench", "testing", "client"}
    ]
    made = {str(file.relative_to(package)) for file in modules if _MADE.search(file.read_text(encoding="utf-8"))}
    assert made == _WHERE
