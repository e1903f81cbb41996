"""While a handler blocks the event loop, a thread stands in: unbegun rows start on other workers, begun rows do not."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psycopg
import pytest

from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.store.core.connect import connect, signed
from pgsched.store.live import blocked_loop
from pgsched.telemetry import Events
from tests.worker.apart import Blockable, in_a_thread, until_set, until_true
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

LEASE = 3.0
ALL_IN_HAND = (  # in one partition, to be claimed in this order, and within the look-ahead
    "insert into pgsched.executions (target, fire_at, partition, options)"
    " select case n when 0 then 'python:block' else 'python:note' end,"
    " now() + interval '500 ms' + n * interval '10 ms', 3, case n when 0 then %s::jsonb end"
    " from generate_series(0, 20) n"
)
ENDS = "select extract(epoch from expires_at)::float8 from pgsched.workers where id = %s"

Apart = Callable[[Blockable], AbstractAsyncContextManager[Worker]]


@pytest.fixture
def apart(database_url: str) -> Apart:
    @asynccontextmanager
    async def run(made: Blockable) -> AsyncIterator[Worker]:
        settings = Settings(
            database_url=database_url, lease=LEASE, concurrency=20, drain_timeout=5.0, look_ahead=0.9, poll_interval=1.0
        )
        async with in_a_thread(settings, made, Events()) as it:
            await until_true(lambda: bool(it.parts.assignment.number))
            yield it

    return run


async def test_unbegun_rows_behind_a_blocked_loop_start_elsewhere_once(
    db: Connection, running: Running, apart: Apart
) -> None:
    blocked, other = Blockable(blocks=True), Blockable(blocks=False)
    async with apart(blocked):
        await db.execute(ALL_IN_HAND, [None])
        await until_set(blocked.stands)
        async with running(other.app, lease=LEASE):
            await until_true(lambda: len(other.noted) == 20)
            assert not blocked.noted
            blocked.go.set()
            await until_history(db, 21)
    assert len(set(other.noted)) == len(other.noted) == 20
    assert not blocked.noted
    assert (len(blocked.blocked), other.blocked) == (1, [])


async def test_begun_rows_keep_their_leases_while_the_loop_is_blocked(
    db: Connection, running: Running, apart: Apart, recorder: Recorder
) -> None:
    blocked, other = Blockable(blocks=True), Blockable(blocks=False)
    async with apart(blocked) as worker:
        await db.execute("select pgsched.schedule('python:slow') from generate_series(1, 5)")
        await until_true(lambda: len(blocked.slow) == 5)
        await db.execute("select pgsched.schedule('python:block')")
        await until_set(blocked.stands)
        async with running(other.app, lease=LEASE):
            stood = await value(db, ENDS, worker.parts.assignment.number)
            await until(lambda: value(db, ENDS + " and extract(epoch from expires_at) > %s",
                                      worker.parts.assignment.number, stood + 2 * LEASE), seconds=30)  # fmt: skip
            blocked.free()
            await until_history(db, 6)
    assert (len(blocked.slow), len(blocked.blocked)) == (5, 1)
    assert (other.slow, other.blocked) == ([], [])
    assert not recorder.named("worker.lost")


async def test_an_execution_that_blocks_beyond_its_timeout_counts_as_lost(
    db: Connection, running: Running, apart: Apart
) -> None:
    blocked, other = Blockable(blocks=True), Blockable(blocks=False)
    async with apart(blocked) as worker:
        number = worker.parts.assignment.number
        await db.execute(ALL_IN_HAND, ['{"timeout": "1s"}'])
        await until_set(blocked.stands)
        async with running(other.app, lease=LEASE):
            await until(lambda: value(db, "select losses = 1 from pgsched.executions where target = 'python:block'"))
            await until_history(db, 21, seconds=40)
            assert len(other.blocked) == 1
            blocked.go.set()
            await until_true(lambda: worker.parts.assignment.number > number)
            await db.execute("select pgsched.schedule('python:note') from generate_series(1, 10)")
            await until_history(db, 31)
    assert len(other.noted) + len(blocked.noted) == 30
    assert len({*other.noted, *blocked.noted}) == 30


async def test_only_the_workers_own_open_transactions_are_ended(database_url: str) -> None:
    idle = [await connect(signed(database_url, name), "claim") for name in ("ab12", "ab12", "cd34")]
    await idle[0].execute("begin")
    await idle[2].execute("begin")
    async with await connect(signed(database_url, "ab12"), "standin") as connection:
        await blocked_loop.end_own_transactions(connection, "ab12")
    with pytest.raises(psycopg.OperationalError):
        await idle[0].execute("select 1")
    for session in idle[1:]:
        await session.execute("select 1")
        await session.close()
