"""``delivery_count`` tells a handler that its execution was delivered before."""

import asyncio
from datetime import timedelta
from typing import Any

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Snooze
from pgsched.delivery.handler_call import Context
from tests.worker.conftest import Connection, Running, until_history

Told = list[tuple[int, int]]
SCHEDULE = """select pgsched.schedule('python:work', options => '{"backoff": ["1ms"]}')"""


def telling(first: Exception | None = None) -> tuple[App, Told, asyncio.Event]:
    """A handler that records attempt and delivery count, and hangs or raises the first time."""
    app, told, begun = App(), Told(), asyncio.Event()

    @app.handler("work")
    async def work(payload: Any, context: Context) -> None:
        told.append((context.attempt, context.delivery_count))
        if len(told) == 1:
            if first is not None:
                raise first
            begun.set()
            await asyncio.Event().wait()

    return app, told, begun


async def test_an_attempt_ended_by_a_drain_counts_as_a_delivery(db: Connection, running: Running) -> None:
    app, told, begun = telling()
    async with running(app, drain_timeout=0.1):
        await db.execute(SCHEDULE)
        await begun.wait()
    async with running(app):
        await until_history(db, 1)
    assert told == [(1, 1), (1, 2)]


async def test_a_snoozed_attempt_counts_as_a_delivery(db: Connection, running: Running) -> None:
    app, told, _ = telling(Snooze(timedelta(seconds=1)))
    async with running(app):
        await db.execute(SCHEDULE)
        await until_history(db, 1)
    assert told == [(1, 1), (1, 2)]


async def test_a_failed_attempt_counts_as_a_delivery(db: Connection, running: Running) -> None:
    app, told, _ = telling(ValueError())
    async with running(app):
        await db.execute(SCHEDULE)
        await until_history(db, 1)
    assert told == [(1, 1), (2, 2)]
