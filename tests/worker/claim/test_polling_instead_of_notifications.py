"""Polling: a worker that is notified often polls instead, and tells writers not to notify.

The idle poll interval is half a minute here, so that idle polls find nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from pgsched.scheduler import Worker
from pgsched.store.core.connect import Connection as Session
from pgsched.store.core.connect import connect as session
from pgsched.worker.claim.polling_instead_of_notifications import Polling
from tests.worker.conftest import Connection, Recorder, Running, counting_app, until, until_history, value

POLL = 30.0
RINGS = 30
RUNG = 1 + RINGS  # executed once a worker polls: a first row, and the rows of `ring`
ALONE: dict[str, Any] = {"poll_interval": POLL, "concurrency": 200}
RING = """
select count(pgsched.schedule('python:count', '{}', fire_at => now() + n * interval '1 microsecond'))
  from generate_series(1, %s) n
"""
WATCHERS = """
select array_agg(w.id) from pgsched.workers w
 where pgsched_internal.is_watched(0) and pgsched_internal.watch_of(0) & 4194303 = w.id
"""
IN_PARTITION = "insert into pgsched.executions (target, payload, fire_at, partition) values (%s, '{}', now(), %s)"


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polling starts even if a slow machine hears the notifications one by one, and goes on however few rows arrive."""
    monkeypatch.setattr("pgsched.worker.claim.polling_instead_of_notifications._WORTH", 0)
    monkeypatch.setattr("pgsched.worker.claim.listener.WITHIN", 5.0)


async def watchers(db: Connection) -> list[int]:
    """The number of the worker that polls the queue ``default``, if one does."""
    return await value(db, WATCHERS) or []


async def nobody_watches(db: Connection) -> bool:
    return not await watchers(db)


async def settle_in(db: Connection, recorder: Recorder) -> None:
    """Return once the worker is up and has executed a first row."""
    await recorder.wait_for("worker.joined")
    await db.execute("select pgsched.schedule('python:count', '{}')")
    await until_history(db, 1)


async def ring(db: Connection) -> None:
    """Notify the workers thirty times in one commit."""
    await db.execute(RING, [RINGS])


@asynccontextmanager
async def on_watch(db: Connection, recorder: Recorder, worker: Any) -> AsyncIterator[Worker]:
    """A worker that was notified often, started polling and has executed those rows."""
    async with worker as entered:
        await settle_in(db, recorder)
        await ring(db)
        await until(lambda: watchers(db))
        await until_history(db, RUNG)
        yield entered


@pytest.mark.timed
async def test_a_frequently_notified_worker_polls(db: Connection, running: Running, recorder: Recorder) -> None:
    app, calls = counting_app()
    async with running(app, **ALONE):
        await settle_in(db, recorder)
        rung = 0
        while not await watchers(db):  # one time may not suffice on a slow machine
            assert rung < 5
            await ring(db)
            rung += 1
            await until_history(db, 1 + rung * RINGS)
    assert len(calls) == len(set(calls)) == 1 + rung * RINGS


async def test_a_rarely_notified_worker_does_not_poll(
    db: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    async with running(app, **ALONE):
        await recorder.wait_for("worker.joined")
        for count in range(1, 6):
            await db.execute("select pgsched.schedule('python:count', '{}')")
            await until_history(db, count)
        assert await watchers(db) == []


async def test_polling_claims_rows_without_notifications(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    async with on_watch(db, recorder, running(app, **ALONE)):
        for count in range(1, 6):
            await silent.execute("select pgsched.schedule('python:count', '{}')")
            await until_history(db, RUNG + count)
        assert await watchers(db)


async def test_writers_do_not_notify_a_polling_worker(
    db: Connection, running: Running, recorder: Recorder, endless: None, database_url: str
) -> None:
    app, _ = counting_app()
    async with on_watch(db, recorder, running(app, **ALONE)):
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as listener:
            await listener.execute("listen pgsched_wake")
            await db.execute("select pgsched.schedule('python:count', '{}')")
            await db.execute("notify pgsched_wake, 'that was all'")
            heard = [notification.payload async for notification in listener.notifies(timeout=10, stop_after=1)]
        await until_history(db, RUNG + 1)
    assert heard == ["that was all"]


async def test_polling_with_little_room_covers_every_partition(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    async with on_watch(db, recorder, running(app, poll_interval=POLL, concurrency=20)):
        for partition in range(16):
            await silent.execute(IN_PARTITION, ["python:count", partition])
        await until_history(db, RUNG + 16)
        assert await watchers(db)


async def test_polling_ends_when_no_rows_arrive(
    db: Connection, running: Running, recorder: Recorder, endless: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = counting_app()
    async with on_watch(db, recorder, running(app, **ALONE)):
        monkeypatch.undo()
        await until(lambda: nobody_watches(db))
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, RUNG + 1)


async def test_a_row_committed_after_polling_ended_is_found(
    db: Connection, running: Running, recorder: Recorder, database_url: str, endless: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    app, _ = counting_app()
    async with (
        await psycopg.AsyncConnection.connect(database_url) as writer,
        on_watch(db, recorder, running(app, **ALONE)),
    ):
        await writer.execute("select pgsched.schedule('python:count', '{}')")
        monkeypatch.undo()
        await until(lambda: nobody_watches(db))
        await writer.commit()
        await until_history(db, RUNG + 1)


async def test_polling_ends_when_the_worker_has_no_room(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    go = asyncio.Event()

    @app.handler("wait")
    async def wait() -> None:
        await go.wait()

    async with on_watch(db, recorder, running(app, **ALONE)):
        await silent.execute(
            "insert into pgsched.executions (target, fire_at) select 'python:wait', now() from generate_series(1, 1000)"
        )
        await until(lambda: nobody_watches(db))
        assert await value(db, "select count(*) from pgsched.executions where lease_token is null") > 0
        go.set()


async def test_a_drain_stops_polling_before_attempts_end(
    db: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    started, go = asyncio.Event(), asyncio.Event()

    @app.handler("wait")
    async def wait() -> None:
        started.set()
        await go.wait()

    async with on_watch(db, recorder, running(app, **ALONE, drain_timeout=60)) as worker:
        await db.execute("select pgsched.schedule('python:wait')")
        await started.wait()
        draining = asyncio.create_task(worker.drain())
        try:
            await until(lambda: nobody_watches(db))
        finally:
            go.set()
            await draining


async def test_polling_stops_on_a_lost_connection_and_starts_again(
    db: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, calls = counting_app()
    async with on_watch(db, recorder, running(app, **ALONE)):
        [lost] = await watchers(db)
        await db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pgsched claim %'"
        )
        await recorder.wait_for("service.failed")
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, RUNG + 1)
        await ring(db)
        [found] = await until(lambda: watchers(db))
        await until_history(db, RUNG + 1 + RINGS)
    assert found == lost
    assert len(calls) == len(set(calls)) == RUNG + 1 + RINGS


async def test_a_failed_claim_stops_polling(
    db: Connection, running: Running, recorder: Recorder, endless: None
) -> None:
    app, _ = counting_app()
    async with on_watch(db, recorder, running(app, **ALONE)):
        await db.execute("alter table pgsched_internal.executions_3 rename to hidden")
        await recorder.wait_for("service.failed")
        await db.execute("alter table pgsched_internal.hidden rename to executions_3")
        assert not any(failed["away"] for failed in recorder.named("service.failed"))
        await until(lambda: nobody_watches(db))
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, RUNG + 1)


async def test_only_one_of_two_workers_polls(
    db: Connection, silent: Connection, running: Running, endless: None
) -> None:
    app, calls = counting_app()
    async with running(app, **ALONE), running(app, **ALONE):
        await until(lambda: value(db, "select count(*) = 2 from pgsched.workers"))
        rung = 0
        while not await watchers(db) or rung < 3:
            await ring(db)
            rung += 1
            await until_history(db, rung * RINGS)
        assert len(await watchers(db)) == 1
        for partition in range(16):
            await silent.execute(IN_PARTITION, ["python:count", partition])
        await until_history(db, rung * RINGS + 16)
    assert len(calls) == len(set(calls)) == rung * RINGS + 16


@pytest.fixture
async def sessions(database_url: str) -> AsyncIterator[tuple[Session, Session]]:
    """The claiming sessions of two workers."""
    async with await session(database_url, "claim") as first, await session(database_url, "claim") as second:
        yield first, second


async def test_a_second_worker_polls_only_after_the_first_has_stopped(
    sessions: tuple[Session, Session],
) -> None:
    mine, yours = Polling(), Polling()
    await mine.start(sessions[0], 1, range(16))
    yours.is_called_for = True
    await yours.start(sessions[1], 2, range(16))
    assert (mine.on, yours.on, yours.is_called_for) == (True, False, False)
    await mine.stop(sessions[0])
    await yours.start(sessions[1], 2, range(16))
    assert (mine.on, yours.on) == (False, True)


def test_a_slow_claim_does_not_delay_the_next_poll() -> None:
    kept = Polling()
    kept.found(100, 0.3)
    assert kept.interval <= 0.02
