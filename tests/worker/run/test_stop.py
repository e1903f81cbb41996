"""A run that was ended in the database is stopped in its worker; a notification alone does not stop a run."""

import asyncio
import contextlib
import threading

import pytest

from pgsched.delivery.app import App
from tests.delivery.receiver import Request, receiving
from tests.worker.conftest import Connection, Running, until, until_history, value


@pytest.fixture
def slow() -> tuple[App, asyncio.Event, asyncio.Event, asyncio.Event]:
    """An app whose handler waits, and the events ``started``, ``stopped`` and ``go``."""
    app, started, stopped, go = App(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.handler("slow")
    async def wait() -> None:
        started.set()
        try:
            await go.wait()
        except asyncio.CancelledError:
            stopped.set()
            raise

    return app, started, stopped, go


Slow = tuple[App, asyncio.Event, asyncio.Event, asyncio.Event]


async def test_a_deleted_run_is_stopped_by_a_notification(db: Connection, running: Running, slow: Slow) -> None:
    app, started, stopped, _ = slow
    async with running(app), asyncio.timeout(20):
        id = await value(db, "select pgsched.schedule('python:slow')")
        await started.wait()
        await db.execute("delete from pgsched.executions")
        await db.execute("select pg_notify('pgsched_wake', 'stop ' || %s::text)", [id])
        await stopped.wait()


async def test_a_cancelled_run_is_stopped_and_stays_cancelled(db: Connection, running: Running, slow: Slow) -> None:
    app, started, stopped, _ = slow
    async with running(app), asyncio.timeout(20):
        id = await value(db, "select pgsched.schedule('python:slow', ordering_key => 'one')")
        next_id = await value(db, "select pgsched.schedule('python:slow', ordering_key => 'one')")
        await started.wait()
        started.clear()
        assert await value(db, "select pgsched.cancel(id => %s, note => 'already paid')", id)
        await stopped.wait()
        await started.wait()  # the next execution of the ordering key
        assert not await value(db, "select pgsched.cancel(id => %s)", id)
        assert await value(db, "select pgsched.cancel(id => %s)", next_id)
        await until_history(db, 2, status="cancelled")
    ends = await (await db.execute("select id, attempt, reason from pgsched.history order by id")).fetchall()
    assert ends == [(id, 1, "already paid"), (next_id, 1, "cancelled")]


async def test_a_deleted_run_is_stopped_even_without_a_notification(
    db: Connection, running: Running, slow: Slow
) -> None:
    app, started, stopped, _ = slow
    async with running(app, lease=2.0), asyncio.timeout(20):
        await db.execute("select pgsched.schedule('python:slow')")
        await started.wait()
        await db.execute("delete from pgsched.executions")
        await stopped.wait()


async def test_an_ordering_key_waits_until_a_cancelled_call_ends(db: Connection, running: Running) -> None:
    app, started, go, calls = App(), asyncio.Event(), asyncio.Event(), list[str]()

    @app.handler("slow")
    async def wait(payload: str) -> None:
        calls.append(f"{payload} begins")
        started.set()
        while payload == "first" and not go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await go.wait()
        calls.append(f"{payload} ends")

    async with running(app), asyncio.timeout(30):
        id = await value(db, "select pgsched.schedule('python:slow', '\"first\"', ordering_key => 'one')")
        await started.wait()
        await db.execute("select pgsched.schedule('python:slow', '\"second\"', ordering_key => 'one')")
        assert await value(db, "select pgsched.cancel(id => %s)", id)
        await until(lambda: value(db, "select gate = 'order' from pgsched.executions"))
        assert await value(db, "select execution_id from pgsched.blocked_keys where until > now()") == id
        go.set()
        await until_history(db, 1)
    assert calls == ["first begins", "first ends", "second begins", "second ends"]
    assert await value(db, "select count(*) from pgsched.blocked_keys") == 0


async def test_an_ordering_key_waits_for_a_cancelled_calls_leftover_thread(db: Connection, running: Running) -> None:
    app, started, go, calls = App(), threading.Event(), threading.Event(), list[str]()

    @app.handler("slow")
    def wait(payload: str) -> None:
        calls.append(f"{payload} begins")
        started.set()
        go.wait(30)
        calls.append(f"{payload} ends")

    async with running(app) as worker, asyncio.timeout(30):
        id = await value(db, "select pgsched.schedule('python:slow', '\"first\"', ordering_key => 'one')")
        await asyncio.to_thread(started.wait)
        await db.execute("select pgsched.schedule('python:slow', '\"second\"', ordering_key => 'one')")
        assert await value(db, "select pgsched.cancel(id => %s)", id)

        async def is_left_behind() -> bool:
            return id.bytes in worker.parts.dispatcher.in_hand.unrecorded

        await until(is_left_behind)
        await worker.parts.upkeep.stuck_keys.turn()
        go.set()
        await until_history(db, 1)
    assert calls == ["first begins", "first ends", "second begins", "second ends"]


async def test_an_ordering_key_is_unblocked_when_a_cancelled_runs_lease_expires(db: Connection) -> None:
    await db.execute(
        "insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id, until)"
        " select 'default', 'one', 0, pgsched_internal.new_id(), now() - interval '1 s'"
    )
    assert not await value(db, "select pgsched_internal.is_blocked(0::smallint, 'default', 'one')")


async def test_a_cancelled_runs_http_request_is_aborted(db: Connection, running: Running) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def hangs(request: Request, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await receiver.left(writer)
        gone.set()

    async with receiving(hangs) as receiver, running(), asyncio.timeout(20):
        id = await value(db, "select pgsched.schedule(%s)", f"{receiver.url}/slow")
        await asked.wait()
        assert await value(db, "select pgsched.cancel(id => %s)", id)
        await gone.wait()
        await until_history(db, 1, status="cancelled")
    assert await value(db, "select count(*) from pgsched.executions") == 0


async def test_a_run_that_has_not_ended_ignores_a_stop_notification(
    db: Connection, running: Running, slow: Slow
) -> None:
    app, started, stopped, go = slow
    async with running(app) as worker, asyncio.timeout(20):
        id = await value(db, "select pgsched.schedule('python:slow')")
        await started.wait()
        await db.execute("select pg_notify('pgsched_wake', 'stop ' || %s::text)", [id])
        await db.execute("select pg_notify('pgsched_wake', 'stop nothing that has an id')")
        worker.parts.renewer.doubt(id.bytes)
        await worker.parts.renewer.turn()
        go.set()
        await until_history(db, 1)
    assert not stopped.is_set()
    assert await value(db, "select status::text from pgsched.history") == "succeeded"
