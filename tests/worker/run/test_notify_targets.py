"""notify: targets, end to end: a listener receives each execution once, when it commits."""

import asyncio
import json
from typing import Any

import psycopg
import pytest

from tests.worker.conftest import Connection, Running, until_history, value


async def heard(listener: Connection, count: int) -> list[tuple[str, str]]:
    """The first notifications that the listener receives."""
    found = list[tuple[str, str]]()
    async with asyncio.timeout(15):
        async for one in listener.notifies(stop_after=count):
            found.append((one.channel, one.payload))
    return found


async def listening(database_url: str, channel: str = "orders") -> Connection:
    listener = await psycopg.AsyncConnection[Any].connect(database_url, autocommit=True)
    await listener.execute(f"listen {channel}".encode())
    return listener


async def test_a_listener_receives_each_executions_payload(db: Connection, running: Running, database_url: str) -> None:
    async with await listening(database_url) as listener, running():
        for _ in range(3):
            await db.execute("select pgsched.schedule('notify:orders', '{\"order\": 42}')")
        assert await heard(listener, 3) == [("orders", '{"order": 42}')] * 3
        await until_history(db, 3)
    assert await value(db, "select count(*) from pgsched.executions") == 0


async def test_a_notification_without_a_payload_is_empty(db: Connection, running: Running, database_url: str) -> None:
    async with await listening(database_url) as listener, running():
        await db.execute("select pgsched.schedule('notify:orders')")
        assert await heard(listener, 1) == [("orders", "")]


async def test_a_payload_of_the_maximum_size_is_sent(db: Connection, running: Running, database_url: str) -> None:
    text = json.dumps("x" * 7997)
    async with await listening(database_url) as listener, running():
        await db.execute("select pgsched.schedule('notify:orders', %s::jsonb)", [text])
        assert await heard(listener, 1) == [("orders", text)]


@pytest.mark.parametrize(
    ("target", "payload", "says"),
    [
        ("notify:orders", json.dumps("x" * 7998), "the payload has 8000 bytes, but PostgreSQL sends at most 7999"),
        (
            "notify:orders",
            json.dumps("ü" * 4000, ensure_ascii=False),
            "store the data in a table and schedule a reference to it",
        ),
    ],
)
async def test_a_payload_that_cannot_be_sent_fails_immediately_with_advice(
    db: Connection, running: Running, target: str, payload: str, says: str
) -> None:
    async with running():
        await db.execute("select pgsched.schedule(%s, %s::jsonb)", [target, payload])
        await until_history(db, 1, status="failed")
    assert says in await value(db, "select reason from pgsched.history")
    assert await value(db, "select attempt from pgsched.history") == 1


async def test_a_notifications_on_success_target_is_called(db: Connection, running: Running) -> None:
    async with running():
        await db.execute("select pgsched.schedule('notify:orders', options => '{\"on_success\": \"notify:told\"}')")
        await until_history(db, 2)
    targets = await value(db, "select array_agg(target::text order by target) from pgsched.history")
    assert targets == ["notify:orders", "notify:told"]


async def test_a_success_is_not_recorded_for_a_client_that_keeps_only_failures(
    db: Connection, running: Running, database_url: str
) -> None:
    await db.execute("insert into pgsched.clients (client_id, keep) values ('quiet', 'failures')")
    async with await listening(database_url) as listener, running():
        await db.execute("select pgsched.schedule('notify:orders', client => 'quiet')")
        await heard(listener, 1)
    assert await value(db, "select count(*) from pgsched.history") == 0
    assert await value(db, "select count(*) from pgsched.executions") == 0
