"""Workers behind a pool in session mode: how they use their sessions, and how a lost worker is detected."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from tests.poolers.pgbouncer import pgbouncer
from tests.worker.call_arrange import DROP, LOGIN, MAKE
from tests.worker.conftest import Connection, until, until_history, value

_HANDLERS = """
import signal
from pgsched import App

app = App()


@app.handler("stay")
async def stay(context):
    signal.pause()
"""


@pytest.fixture
async def shop(database_url: str) -> AsyncIterator[Connection]:
    """The owner's connection; the client ``shop`` has its own role and functions."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(MAKE.encode())
        await connection.execute("create table booked (n integer)")
        yield connection
        await connection.execute(DROP.encode())


@asynccontextmanager
async def _working(url: str, app: App | None = None, **more: Any) -> AsyncIterator[Worker]:
    worker = Worker(Settings(database_url=url, drain_timeout=5.0, **more), app=app)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.drain()


def _app() -> App:
    app = App()

    @app.handler("book")
    async def book(payload: dict[str, int], connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("insert into booked values (%s)", [payload["n"]])

    return app


async def test_sql_notify_and_transactional_targets_work_in_a_session_pool(
    session_url: str, database_url: str, shop: Connection
) -> None:
    async with (
        await psycopg.AsyncConnection.connect(database_url, autocommit=True) as listener,
        # Another role needs its own entry in PgBouncer, so the functions' sessions bypass the pool.
        _working(session_url, _app(), sql_login=f"{LOGIN} port={listener.info.port}"),
    ):
        await listener.execute("listen orders")
        call = "select pgsched.schedule(%s, %s::jsonb, client => 'shop')"
        for n in range(5):
            for target in ("sql:billing.settle", "notify:orders", "python:book"):
                await shop.execute(call, [target, json.dumps({"n": n})])
        await until_history(shop, 15)
        heard = [one.payload async for one in listener.notifies(stop_after=5, timeout=10)]
    assert sorted(heard) == [f'{{"n": {n}}}' for n in range(5)]
    assert await value(shop, "select array_agg(n order by n) from billing.settled") == list(range(5))
    assert await value(shop, "select array_agg(n order by n) from booked") == list(range(5))


async def test_an_sql_target_is_called_through_a_session_pool(session_url: str, shop: Connection) -> None:
    user = str(psycopg.conninfo.conninfo_to_dict(session_url)["user"])
    await shop.execute("update pgsched.clients set database_role = null where client_id = 'shop'")
    await shop.execute("create function public.ten(payload jsonb) returns integer language sql as 'select 10'")
    async with _working(session_url, sql_role=user, sql_login=f"user={user}"):
        await shop.execute("select pgsched.schedule('sql:public.ten', client => 'shop')")
        await until_history(shop, 1)
    assert await value(shop, "select result from pgsched.history") == 10


async def test_an_sql_target_is_not_called_through_a_transaction_pool(
    session_url: str, database_url: str, version: str, shop: Connection
) -> None:
    with pgbouncer(database_url, "transaction", version=version, users={"billing": "secret"}) as pooler:
        async with _working(database_url, sql_login=f"{LOGIN} port={pooler.port}"):
            await shop.execute(
                """select pgsched.schedule('sql:billing.settle', '{"n": 1}', client => 'shop',
                                           options => '{"max_attempts": 1}')"""
            )
            await until_history(shop, 1, status="failed")
    assert "sql_login leads to a pooler" in await value(shop, "select reason from pgsched.history")


async def test_a_dead_workers_execution_runs_again_before_its_lease_expires(
    session_url: str, shop: Connection, tmp_path: Path
) -> None:
    (tmp_path / "shop_handlers.py").write_text(_HANDLERS)
    words = [sys.executable, "-m", "pgsched.cli.main", "worker", "--app", "shop_handlers:app", "--lease", "3000"]
    environment = os.environ | {"PGSCHED_DATABASE_URL": session_url, "PYTHONPATH": str(tmp_path)}
    nowhere = asyncio.subprocess.DEVNULL
    dying = await asyncio.create_subprocess_exec(*words, cwd=tmp_path, env=environment, stdout=nowhere)
    try:
        await shop.execute("select pgsched.schedule('python:stay')")
        held = "select count(*) = 1 from pgsched.executions where lease_token is not null"
        await until(lambda: value(shop, held), seconds=30)
        done, app = asyncio.Event(), App()
        app.handler("stay")(lambda: done.set())
        async with _working(session_url, app):
            dying.kill()
            await until_history(shop, 1, seconds=30)
    finally:
        with suppress(ProcessLookupError):
            dying.kill()
        await dying.wait()
    assert done.is_set()
