"""A client with slow attempts gets only its share of threads, sessions and connections; other clients continue."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.scheduler import Worker
from tests.delivery.receiver import Request, answering, receiving
from tests.worker.call_arrange import LOGIN, define
from tests.worker.conftest import Connection, Running, until, until_history, value

MANY = (
    "insert into pgsched.executions (client_id, target, payload, fire_at)"
    " select %s, %s, '{\"n\": 1}', now() from generate_series(1, %s)"
)


@pytest.fixture
def go() -> Iterator[threading.Event]:
    """Frees the handlers that hang; always set at the end."""
    event = threading.Event()
    yield event
    event.set()


@asynccontextmanager
async def shared(running: Running, app: App | None = None, **settings: Any) -> AsyncIterator[Worker]:
    """A worker that knows of several clients."""
    async with running(app, concurrency=40, **settings) as worker:

        async def is_shared() -> bool:
            return bool(worker.parts.dispatcher.shares.wanted)

        await until(is_shared)
        yield worker


async def clients(db: Connection, *names: str) -> None:
    for name in names:
        await db.execute("insert into pgsched.clients (client_id) values (%s)", [name])


async def served_beside(db: Connection, slow: str, target: str, quick: str) -> None:
    """Start 60 executions of the slow client that hang, then deliver another client's executions one by one."""
    await db.execute(MANY.encode(), ["slow", slow, 60])
    await until(lambda: value(db, "select count(*) > 20 from pgsched.executions where lease_token is not null"))
    for done in range(1, 4):
        await db.execute(MANY.encode(), [quick, target, 1])
        await until_history(db, done, seconds=30)
    assert await value(db, "select count(*) from pgsched.history where client_id = 'slow'") == 0


async def test_slow_handlers_get_only_their_share_of_threads(
    db: Connection, running: Running, go: threading.Event
) -> None:
    app = App()
    app.handler("hang")(lambda: go.wait(60) and None)
    app.handler("quick")(lambda: None)
    await clients(db, "slow", "shop")
    async with shared(running, app, handler_threads=8):
        await served_beside(db, "python:hang", "python:quick", "shop")
        go.set()
        await until_history(db, 63, seconds=60)


async def test_handlers_that_never_return_get_only_their_share_of_threads(
    db: Connection, running: Running, go: threading.Event
) -> None:
    """Their client gets only its share of the threads left behind after timeouts, and of the slots."""
    app = App()
    app.handler("hang")(lambda: go.wait(120) and None)
    app.handler("quick")(lambda: None)
    await clients(db, "slow", "shop")
    options = '{"timeout": "0.2s", "max_attempts": 1}'
    async with shared(running, app, handler_threads=4) as worker:
        await db.execute(
            "insert into pgsched.executions (client_id, target, fire_at, options)"
            " select 'slow', 'python:hang', now(), %s::jsonb from generate_series(1, 30)",
            [options],
        )
        await until_history(db, 9, status="failed", seconds=30)  # 6 of 8 threads left behind, and 3 of 4 slots
        reason = "select reason from pgsched.status where client_id = 'slow' and status = 'scheduled' limit 1"
        assert "functions are still running" in await until(lambda: value(db, reason), seconds=30)
        for done in range(1, 4):
            await db.execute(MANY.encode(), ["shop", "python:quick", 1])
            await until_history(db, done, seconds=30)
        assert worker.parts.dispatcher.shares.idle() > 30
        assert await value(db, "select count(*) from pgsched.history where client_id = 'slow'") == 9
        await db.execute("select pgsched.bulk('cancel', '{\"client\": \"slow\"}')")
        go.set()


async def test_slow_handlers_get_only_their_share_of_database_connections(db: Connection, running: Running) -> None:
    app, end = App(), asyncio.Event()

    @app.handler("hang")
    async def hang(connection: Any) -> None:
        await end.wait()

    @app.handler("quick")
    async def quick(connection: Any) -> None: ...

    await clients(db, "slow", "shop")
    async with shared(running, app):
        await served_beside(db, "python:hang", "python:quick", "shop")
        end.set()
        await until_history(db, 63, seconds=60)


async def test_slow_sql_functions_get_only_their_share_of_sessions(billing: Connection, running: Running) -> None:
    db = billing
    await define(
        db,
        "create function billing.hang(payload jsonb) returns void language sql"
        " as $$ select pg_advisory_xact_lock(7) $$",
    )
    await db.execute("insert into pgsched.clients (client_id, database_role) values ('slow', 'billing')")
    async with shared(running, sql_login=LOGIN):
        await db.execute("select pg_advisory_lock(7)")
        await served_beside(db, "sql:billing.hang", "sql:billing.settle", "shop")
        await db.execute("select pg_advisory_unlock(7)")
        await until_history(db, 63, seconds=60)


async def test_hanging_callbacks_get_only_their_share_of_a_hosts_connections(db: Connection, running: Running) -> None:
    end = asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.path == "/hang":
            await end.wait()
        await answering()(request, writer)

    await clients(db, "slow", "shop")
    async with receiving(answer) as receiver, shared(running, connections_per_host=8):
        await served_beside(db, f"{receiver.url}/hang", f"{receiver.url}/quick", "shop")
        end.set()
        await until_history(db, 63, seconds=60)


async def test_slow_handlers_get_only_their_share_of_payload_memory(db: Connection, running: Running) -> None:
    app, end = App(), asyncio.Event()

    @app.handler("hang")
    async def hang(payload: Any) -> None:
        await end.wait()

    @app.handler("quick")
    async def quick(payload: Any) -> None: ...

    large = (
        "insert into pgsched.executions (client_id, target, payload, fire_at)"
        " select %s, %s, to_jsonb(repeat('x', 900000)), now() from generate_series(1, %s)"
    )
    await clients(db, "slow", "shop")
    async with shared(running, app, in_hand_bytes=8 << 20):
        await db.execute(large.encode(), ["slow", "python:hang", 20])
        await until(lambda: value(db, "select count(*) > 10 from pgsched.executions where lease_token is not null"))
        for done in range(1, 4):
            await db.execute(large.encode(), ["shop", "python:quick", 1])
            await until_history(db, done, seconds=30)
        assert await value(db, "select count(*) from pgsched.history where client_id = 'slow'") == 0
        end.set()
        await until_history(db, 23, seconds=60)
