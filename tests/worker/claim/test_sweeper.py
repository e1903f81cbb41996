"""The sweep: what stands where claims do not read any more, and that nobody told of, is found all the same."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.events import Events
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.worker.claim.sweeper import Sweeper
from tests.worker.claim.test_watch import counting_app
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

QUIET: dict[str, Any] = {"poll_interval": 30.0, "look_ahead": 0.01}
LONG_PAST = "insert into pgsched.executions (target, payload, fire_at, partition) values ('python:count', '{}', %s, %s)"


@pytest.fixture
async def silent(database_url: str) -> AsyncIterator[Connection]:
    """A session that never notifies."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("set pgsched.notify = off")
        yield connection


async def settle_in(db: Connection, recorder: Recorder) -> None:
    """Returns once the worker has looked at all partitions, so that it reads none of them from the edge any more."""
    await recorder.wait_for("worker.joined")
    await db.execute("select pgsched.schedule('python:count', '{}')")
    await until_history(db, 1)


async def an_hour_ago(db: Connection) -> Any:
    return await value(db, "select now() - interval '1 hour'")


async def test_a_row_that_came_in_silently_behind_the_low_mark_is_found(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    async with running(app, **QUIET) as worker:
        await settle_in(db, recorder)
        await silent.execute(LONG_PAST, [await an_hour_ago(db), 5])
        worker.sweeper.wake()
        await until_history(db, 2)


async def test_it_is_found_by_the_sweep_that_comes_by_itself(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    async with running(app, poll_interval=1.0, look_ahead=0.01):
        await settle_in(db, recorder)
        await silent.execute(LONG_PAST, [await an_hour_ago(db), 5])
        await until_history(db, 2)


async def test_a_row_in_each_partition_is_found_by_one_sweep(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, calls = counting_app()
    async with running(app, **QUIET) as worker:
        await settle_in(db, recorder)
        worker.sweeper.stop()
        past = await an_hour_ago(db)
        for partition in range(16):
            await silent.execute(LONG_PAST, [past + timedelta(seconds=partition), partition])
        await worker.sweeper.turn()
        await until_history(db, 17)
    assert len(calls) == len(set(calls)) == 17


async def test_rows_one_behind_the_other_are_all_found_by_one_sweep(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, calls = counting_app()
    async with running(app, **QUIET) as worker:
        await settle_in(db, recorder)
        worker.sweeper.stop()
        past = await an_hour_ago(db)
        for n in range(50):
            await silent.execute(LONG_PAST, [past + timedelta(seconds=n), 5])
        await worker.sweeper.turn()
        await until_history(db, 51)
    assert len(calls) == len(set(calls)) == 51


async def test_a_worker_without_partitions_sweeps_nothing(db: Connection, running: Running, recorder: Recorder) -> None:
    async with running(**QUIET) as worker:
        await recorder.wait_for("worker.joined")
        worker.roster.own = []
        await worker.sweeper.turn()
        assert recorder.named("service.failed") == []


Sweeping = Callable[[float], Sweeper]


@pytest.fixture
async def sweeping(database_url: str) -> AsyncIterator[Sweeping]:
    """A sweeper every tenth of a second whose sweep takes so many seconds."""
    link = Link(database_url, "upkeep")

    def make(seconds: float) -> Sweeper:
        async def sweep(connection: connect.Connection) -> None:
            await asyncio.sleep(seconds)

        return Sweeper(link, Events(), sweep=sweep, every=0.1)

    yield make
    await link.drop()


async def test_a_short_sweep_is_repeated_at_its_interval(sweeping: Sweeping) -> None:
    sweeper = sweeping(0.0)
    assert any([0.05 < await sweeper.turn() <= 0.1 for _ in range(20)])  # a machine may make some of them long


async def test_a_long_sweep_takes_no_more_than_a_twentieth_of_the_time(sweeping: Sweeping) -> None:
    assert await sweeping(0.05).turn() >= 19 * 0.05


async def test_it_goes_on_after_its_connection_was_cut(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    cut = (
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like 'pgsched upkeep %%'"
    )
    async with running(app, **QUIET) as worker:
        await settle_in(db, recorder)
        assert await until(lambda: value(db, cut)) == 1
        await silent.execute(LONG_PAST, [await an_hour_ago(db), 5])
        worker.sweeper.wake()
        await until_history(db, 2)


async def test_an_idle_worker_finds_what_came_in_silently_behind_a_busy_one(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    async with running(app, poll_interval=0.5) as busy, running(app, poll_interval=0.5):
        await until(lambda: _shares(busy))
        await settle_in(db, recorder)
        for service in (busy.claimer, busy.sweeper):
            service.stop()  # as if it had no room for a long while
        for partition in busy.roster.own:
            await silent.execute(LONG_PAST, [await an_hour_ago(db), partition])
        await until_history(db, 1 + len(busy.roster.own))


async def _shares(worker: Any) -> bool:
    return len(worker.roster.own) == 8
