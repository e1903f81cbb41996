"""Observers receive each batch that a worker claims and settles."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail, Retry
from pgsched.observer import BatchClaimed, BatchSettled, Observer
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.worker.conftest import Connection, until_history

MANY = """
insert into pgsched.executions (target, payload, fire_at, options)
select %s, %s::jsonb, now(), %s::jsonb from generate_series(1, %s)"""
# With a pause: an attempt is not counted if its retry is claimed before the worker knows that the end is committed.
ONCE_MORE = '{"max_attempts": 2, "backoff": {"initial": "1s"}}'


class Noting(Observer):
    """Keeps the batches that it receives."""

    def __init__(self) -> None:
        self.claims, self.settles = list[BatchClaimed](), list[BatchSettled]()

    def claimed(self, batch: BatchClaimed) -> None:
        self.claims.append(batch)

    def settled(self, batch: BatchSettled) -> None:
        self.settles.append(batch)

    @property
    def outcomes(self) -> Counter[str]:
        """The outcomes of all batches together."""
        return sum((Counter(batch.outcomes) for batch in self.settles), Counter[str]())


def an_app() -> App:
    app = App()

    @app.handler("do")
    async def do(payload: Any) -> None:
        match payload:
            case "fail":
                raise Fail("no")
            case "retry":
                raise Retry("not now")

    return app


@pytest.fixture
def noting() -> Noting:
    return Noting()


async def run(url: str, db: Connection, observers: list[Observer], *, until: tuple[tuple[str, int], ...]) -> None:
    """Start a worker, wait until history has this many rows of each status, and drain it."""
    settings = Settings(database_url=url, concurrency=20)
    worker = Worker(settings, app=an_app(), events=Events(observers=observers))
    async with AsyncExitStack() as stack:
        await worker.start()
        stack.push_async_callback(worker.drain)
        for status, count in until:
            await until_history(db, count, status=status)


async def test_observers_receive_claimed_and_settled_rows_in_batches(
    db: Connection, database_url: str, noting: Noting
) -> None:
    await db.execute(MANY, ["python:do", "{}", None, 500])
    await run(database_url, db, [noting], until=(("succeeded", 500),))
    assert sum(batch.rows for batch in noting.claims) == sum(batch.rows for batch in noting.settles) == 500
    assert noting.outcomes == {"succeeded": 500}
    assert len(noting.settles) < 100
    assert all(batch.rows == sum(batch.outcomes.values()) for batch in noting.settles)


async def test_each_observed_batch_has_a_statement_count_and_a_duration(
    db: Connection, database_url: str, noting: Noting
) -> None:
    await db.execute(MANY, ["python:do", "{}", None, 100])
    await run(database_url, db, [noting], until=(("succeeded", 100),))
    assert all(batch.statements >= 3 or batch.at_once for batch in noting.claims)
    assert all(batch.statements >= 1 for batch in noting.settles)
    seconds = [batch.seconds for batch in noting.claims] + [batch.seconds for batch in noting.settles]
    assert min(seconds) > 0


async def test_outcomes_are_counted_by_kind(db: Connection, database_url: str, noting: Noting) -> None:
    await db.execute(MANY, ["python:do", '"fail"', None, 3])
    await db.execute(MANY, ["python:do", '"retry"', ONCE_MORE, 2])
    await db.execute(MANY, ["python:do", '"well"', None, 4])
    await run(database_url, db, [noting], until=(("succeeded", 4), ("failed", 5)))
    assert noting.outcomes == {"succeeded": 4, "failed": 5, "retrying": 2}


async def test_rows_that_a_drain_hands_back_count_as_released(
    db: Connection, database_url: str, noting: Noting
) -> None:
    app, begun = App(), asyncio.Event()

    @app.handler("do")
    async def do(payload: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    settings = Settings(database_url=database_url, concurrency=1, drain_timeout=0.1)
    worker = Worker(settings, app=app, events=Events(observers=[noting]))
    await db.execute(MANY, ["python:do", "{}", None, 1])
    await worker.start()
    await begun.wait()
    await worker.drain()
    assert noting.outcomes == {"released": 1}


async def test_all_observers_receive_the_same_batches(db: Connection, database_url: str) -> None:
    one, other = Noting(), Noting()
    await db.execute(MANY, ["python:do", "{}", None, 10])
    await run(database_url, db, [one, other], until=(("succeeded", 10),))
    assert [batch.rows for batch in one.claims] == [batch.rows for batch in other.claims]
    assert one.outcomes == other.outcomes == {"succeeded": 10}
