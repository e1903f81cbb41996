"""Any login may notify: forged notifications stop neither a worker nor any of its services."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

POLL = 30.0  # longer than any wait here
PAYLOADS = [
    "3@-99999999999999999999999", "3@-999999999999999999", "1@--5", "²@²", "3@" + "9" * 5000, "99999999999@1", "stop ²",
    "stop " + "0" * 5000, "plan", "clients", "queues", "gates", "turns", "release", "bulk", "",
]  # fmt: skip
MANY = "select pgsched.schedule('python:nothing', key => %s || '-' || n) from generate_series(1, 20) n"
ECHO = "select pg_notify('pgsched_worker_' || instance, '') from pgsched.workers"


@pytest.fixture
async def stranger(db: Connection, database_url: str) -> AsyncIterator[Connection]:
    """A session of a role without any pgsched role."""
    await db.execute("create role a_stranger")
    try:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            await connection.execute("set role a_stranger")
            yield connection
    finally:
        await db.execute("drop role a_stranger")


def app_that_does_nothing() -> App:
    app = App()

    @app.handler("nothing")
    async def nothing() -> None:
        pass

    return app


async def test_forged_notifications_do_not_stop_a_worker(
    db: Connection, stranger: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(app_that_does_nothing(), poll_interval=POLL):
        await db.execute("select pgsched.schedule('python:nothing')")
        await until_history(db, 1)
        for number, payload in enumerate(PAYLOADS, 1):
            for _ in range(3):
                await stranger.execute("select pg_notify('pgsched_wake', %s)", [payload])
            await db.execute(MANY.encode(), [number])
            await until_history(db, 1 + 20 * number)
    assert not recorder.named("listener.lost")
    assert not recorder.named("service.failed")


async def test_every_row_is_found_during_a_flood_of_forged_notifications(
    db: Connection, stranger: Connection, running: Running, recorder: Recorder
) -> None:
    flood = """
      select pg_notify('pgsched_wake', said[n % array_length(said, 1) + 1]) from generate_series(1, 2000) n, lateral (
        select array['plan', 'clients', 'queues', 'gates', 'turns', 'release', 'replay', n % 16 || '@' || n,
                     n % 16 || '@-' || n, 'stop ' || gen_random_uuid(), repeat('x', 1000 + n)] as said) s"""
    async with running(app_that_does_nothing(), poll_interval=POLL):
        await db.execute("select pgsched.schedule('python:nothing')")
        await until_history(db, 1)
        for batch in range(10):
            await stranger.execute(flood)
            await db.execute("select pgsched.schedule('python:nothing')")
            await until_history(db, batch + 2)
    assert not recorder.named("listener.lost")
    assert not recorder.named("service.failed")


async def test_a_foreign_notification_does_not_count_as_the_listeners_echo(
    db: Connection, stranger: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(app_that_does_nothing()) as worker:
        await recorder.wait_for("worker.joined")
        worker.parts.listener._every = 0.05
        connection = await worker.parts.listener._link.get()
        await until(lambda: value(db, "select exists (select from pgsched.workers)"))
        names = await (await db.execute(ECHO)).fetchall()
        assert names
        await connection.execute("unlisten *")  # hears nothing, like a listener behind a pooler
        async with asyncio.timeout(20):
            while not recorder.named("listener.lost"):
                await stranger.execute("select pg_notify(%s, '')", [worker.parts.assignment.channel])
                await asyncio.sleep(0.05)
