"""A worker replays dead letters, delivers them to the client's target, and keeps them beyond their day."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import psycopg

from pgsched import Context, Fail
from pgsched.delivery.app import App
from tests.store.ends.dead_letter_arrange import dead_letter
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value


async def test_a_bulk_replay_runs_each_matching_dead_letter_once(
    running: Running, db: Connection, recorder: Recorder, database_url: str
) -> None:
    app, seen, all_seen = App(), list[int](), asyncio.Event()

    @app.handler("settle")
    async def settle(payload: dict[str, int]) -> None:
        seen.append(payload["n"])
        if len(seen) == 60:
            all_seen.set()

    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute("set pgsched.notify = off")
        for number in range(60):
            dead_letter(session, target="python:settle", payload={"n": number})
    async with running(app), asyncio.timeout(20):
        await db.execute("select pgsched.bulk('replay', '{\"client\": \"default\"}', rate => 100)")
        await recorder.wait_for("bulk.finished")
        await all_seen.wait()
        await until_history(db, 60)
    assert sorted(seen) == list(range(60))
    found = await (await db.execute("select state, done, skipped from pgsched.bulk_operations")).fetchone()
    assert found == ("finished", 60, 0)


async def test_a_bulk_cancel_ends_waiting_executions_and_stops_a_running_handler(
    running: Running, db: Connection, recorder: Recorder
) -> None:
    app, begun, stopped = App(), asyncio.Event(), asyncio.Event()

    @app.handler("settle")
    async def settle() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await db.execute("select pgsched.schedule('python:settle', delay => '1 day') from generate_series(1, 60)")
    async with running(app), asyncio.timeout(20):
        await db.execute("select pgsched.schedule('python:settle')")
        await begun.wait()
        await db.execute("select pgsched.bulk('cancel', '{\"client\": \"default\"}')")
        await recorder.wait_for("bulk.finished")
        await stopped.wait()
    assert await value(db, "select count(*) from pgsched.history where status = 'cancelled'") == 61


async def test_a_replay_of_a_long_past_instant_does_not_expire(
    running: Running, db: Connection, database_url: str
) -> None:
    app, seen = App(), list[datetime]()

    @app.handler("report")
    async def report(context: Context) -> None:
        seen.append(context.scheduled_for)

    nominal = datetime(2026, 3, 1, tzinfo=UTC)
    await db.execute("update pgsched.clients set options = '{\"relevant_for\": \"1m\"}' where client_id = 'default'")
    with psycopg.connect(database_url, autocommit=True) as session:
        id = dead_letter(session, target="python:report", fire_at=nominal, options={"relevant_for": "1m"})
    async with running(app), asyncio.timeout(20):
        await db.execute("select pgsched.replay(%s)", [id])
        await until_history(db, 1)
    assert seen == [nominal]


async def test_a_dead_letter_is_delivered_once_even_if_its_delivery_fails(running: Running, db: Connection) -> None:
    app, told = App(), list[str]()

    @app.handler("settle")
    async def settle() -> None:
        raise Fail("the account is closed")

    @app.handler("dead")
    async def dead(payload: dict[str, Any]) -> None:
        told.append(payload["reason"])
        raise Fail("the dead letter cannot be delivered either")

    await db.execute("update pgsched.clients set dead_letter_target = 'python:dead' where client_id = 'default'")
    async with running(app), asyncio.timeout(20):
        await db.execute("select pgsched.schedule('python:settle')")
        await until_history(db, 2, status="failed")
    assert len(told) == 1
    assert "the account is closed" in told[0]
    assert await value(db, "select count(*) from pgsched.executions") == 0


async def test_upkeep_moves_dead_letters_out_of_old_history(
    running: Running, db: Connection, recorder: Recorder, database_url: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as session:
        id = dead_letter(session, ago="40 days")
    async with running():
        await recorder.wait_for("dead_letters.kept")
        kept = await until(lambda: value(db, "select id from pgsched_internal.kept_dead_letters"))
    assert kept == id
