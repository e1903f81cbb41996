"""A row that waits in the worker for a thread or connection has not begun: it uses no time, lane or attempt."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.domain.attempt_outcome import NO_SLOT
from tests.delivery.receiver import Request, answering, receiving
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

BRIEF = '{"timeout": "1s", "max_attempts": 1}'
MANY = "select pgsched.schedule(%s, '{}', options => %s::jsonb) from generate_series(1, %s)"


@pytest.fixture
def go() -> Iterator[threading.Event]:
    """Frees the threads that wait for it; always set at the end."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_timeout_excludes_waiting_for_a_thread(db: Connection, running: Running) -> None:
    app, calls = App(), Counter[str]()

    @app.handler("slow")
    def slow(payload: Any, context: Context) -> None:
        calls[context.execution_id] += 1
        time.sleep(0.3)

    async with running(app, concurrency=3, handler_threads=1):
        await db.execute(MANY, ["python:slow", BRIEF, 8])  # the last execution waits over twice its timeout
        await until_history(db, 8, seconds=30)
    assert set(calls.values()) == {1}
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_a_timeout_excludes_waiting_for_an_http_connection(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async def slow(request: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await answering()(request, writer)

    async with receiving(slow) as receiver:
        async with running(concurrency=8, connections_per_host=1, sideline_after=1):
            await db.execute(MANY, [f"{receiver.url}/slow", '{"timeout": "1s"}', 8])
            await until_history(db, 8, seconds=30)
        assert len(receiver.requests) == 8
        assert receiver.connections == 1
    assert await value(db, "select max(attempt) from pgsched.history") == 1
    assert not recorder.named("target.sidelined")


async def test_a_timeout_excludes_waiting_for_a_database_connection(
    db: Connection, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.scheduler.assembly._HANDLER_CONNECTIONS", 1)
    app = App()

    @app.handler("slow")
    async def slow(connection: Any) -> None:
        await asyncio.sleep(0.3)

    async with running(app, concurrency=8):
        await db.execute(MANY, ["python:slow", BRIEF, 8])
        await until_history(db, 8, seconds=30)
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_a_row_waiting_for_a_thread_takes_no_lane(db: Connection, running: Running, go: threading.Event) -> None:
    app = App()
    app.handler("blocking")(lambda: go.wait(30) and None)

    @app.handler("quick")
    async def quick() -> None: ...

    async with running(app, concurrency=3, handler_threads=1):
        await db.execute(MANY, ["python:blocking", None, 5])
        await until(lambda: value(db, "select count(*) = 5 from pgsched.executions where lease_token is not null"))
        await db.execute("select pgsched.schedule('python:quick')")
        await until_history(db, 1)
        assert await value(db, "select target from pgsched.history") == "python:quick"
        go.set()
        await until_history(db, 6)


async def test_a_row_waiting_too_long_for_a_slot_is_postponed(
    db: Connection, running: Running, recorder: Recorder, go: threading.Event
) -> None:
    app = App()
    app.handler("blocking")(lambda: go.wait(30) and None)

    @app.handler("quick")
    async def quick() -> None: ...

    async with running(app, concurrency=2, handler_threads=1):
        await db.execute(MANY, ["python:blocking", None, 20])  # more than the worker takes in hand
        await until(lambda: value(db, "select count(*) >= 4 from pgsched.executions where lease_token is not null"))
        await db.execute("select pgsched.schedule('python:quick')")
        await until_history(db, 1, seconds=30)
        assert await value(db, "select target from pgsched.history") == "python:quick"
        assert (await recorder.wait_for("slots.taken"))["most"] == 1
        why = await until(lambda: value(db, "select max(reason) from pgsched.status where status = 'scheduled'"))
        assert why.startswith(f"{NO_SLOT}, because a worker process is using all 1 ")
        go.set()
        await until_history(db, 21, seconds=40)
    assert await value(db, "select max(attempt) from pgsched.history") == 1


async def test_a_timed_out_handler_frees_its_slot_for_the_next_row(
    db: Connection, running: Running, go: threading.Event
) -> None:
    app, begun = App(), list[str]()

    @app.handler("stuck")
    def stuck(payload: str) -> None:
        begun.append(payload)
        go.wait(30)

    options = '{"timeout": "0.2s", "max_attempts": 1}'
    async with running(app, concurrency=3, handler_threads=1):
        for count, name in enumerate(("first", "second"), 1):
            await db.execute("select pgsched.schedule('python:stuck', %s, options => %s)", [f'"{name}"', options])
            await until_history(db, count, status="failed")
        assert begun == ["first", "second"]


async def test_a_clients_rows_are_postponed_if_too_many_threads_are_left_over(
    db: Connection, running: Running, recorder: Recorder, go: threading.Event
) -> None:
    app, begun = App(), list[int]()

    @app.handler("stuck")
    def stuck() -> None:
        begun.append(1)
        go.wait(60)

    async with running(app, concurrency=3, handler_threads=1):
        await db.execute(MANY, ["python:stuck", '{"timeout": "0.2s", "max_attempts": 1}', 4])
        await until_history(db, 3, status="failed", seconds=30)
        found = await until(lambda: value(db, "select reason from pgsched.status where status = 'scheduled'"))
        assert found == "at least 2 of this client's functions are still running although their attempts are over"
        assert (await recorder.wait_for("slots.taken"))["reason"] == found
        assert len(begun) == 3
        go.set()
        await until_history(db, 1, seconds=30)
    assert await value(db, "select max(attempt) from pgsched.history") == 1
