"""A handler that cancels its own task has failed, and its cancellation does not reach other rows."""

import asyncio

import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Running, until_history, value

OPTIONS = '{"max_attempts": 2, "backoff": {"initial": "1s", "maximum": "1s"}}'
ENDS = "select status::text, attempt, reason from pgsched.history where target = %s"


@pytest.fixture
def app() -> App:
    """Handlers that cancel their own task, and one that only waits briefly."""
    made = App()

    def current() -> asyncio.Task[None]:
        task = asyncio.current_task()
        assert task is not None
        return task

    @made.handler("cancels")
    async def cancels() -> None:
        current().cancel()
        await asyncio.sleep(0)

    @made.handler("leaves")
    async def leaves() -> None:
        for _ in range(5):
            current().cancel()

    @made.handler("keeps")
    async def keeps() -> None:
        task = current()

        def again() -> None:
            if not task.done():
                task.cancel()
                task.get_loop().call_soon(again)

        task.get_loop().call_soon(again)

    @made.handler("swallows")
    async def swallows() -> None:
        current().cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return

    @made.handler("other")
    async def other() -> None:
        await asyncio.sleep(0.01)

    return made


async def test_a_handler_that_cancels_itself_fails_after_its_last_attempt(
    db: Connection, running: Running, app: App
) -> None:
    async with running(app):
        for _ in range(20):
            await db.execute("select pgsched.schedule('python:cancels', options => %s::jsonb)", [OPTIONS])
        await until_history(db, 20, status="failed", seconds=30)
    ends = await (await db.execute("select distinct attempt, reason from pgsched.history")).fetchall()
    assert ends == [(2, "the handler cancelled itself")]


@pytest.mark.parametrize("name", ["leaves", "swallows"])
async def test_a_leftover_cancellation_does_not_cancel_the_next_row(
    db: Connection, running: Running, app: App, name: str
) -> None:
    async with running(app, concurrency=1) as worker:
        await db.execute("select pgsched.schedule(%s, options => %s::jsonb)", [f"python:{name}", OPTIONS])
        await db.execute("select pgsched.schedule('python:other') from generate_series(1, 20)")
        await until_history(db, 21, seconds=30)
        assert not worker.broken
    ends = "select distinct status::text, attempt from pgsched.history where target = 'python:other'"
    assert await (await db.execute(ends)).fetchall() == [("succeeded", 1)]
    assert await value(db, "select count(*) from pgsched.attempts where error is not null") == 0


async def test_an_endless_cancellation_affects_at_most_one_more_row(db: Connection, running: Running, app: App) -> None:
    async with running(app, concurrency=1):
        await db.execute("select pgsched.schedule('python:keeps')")
        await db.execute("select pgsched.schedule('python:other') from generate_series(1, 20)")
        await until_history(db, 21, seconds=30)
    assert await value(db, "select count(*) from pgsched.history where attempt > 1") <= 1
    assert await value(db, "select max(attempt) from pgsched.history") <= 2


async def test_a_timeout_swallowed_by_a_handler_does_not_cancel_the_next_row(
    db: Connection, running: Running, app: App
) -> None:
    @app.handler("overruns")
    async def overruns() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    async with running(app, concurrency=1):
        once = '{"timeout": "0.2s", "max_attempts": 1}'
        await db.execute("select pgsched.schedule('python:overruns', options => %s::jsonb)", [once])
        await db.execute("select pgsched.schedule('python:other') from generate_series(1, 5)")
        await until_history(db, 6, seconds=30)
    assert await value(db, "select max(attempt) from pgsched.history") == 1
