"""Whole workers find rows behind the front, whichever clients they skip meanwhile."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest

from pgsched.delivery.app import App
from pgsched.worker.claim import sweeper
from tests.worker.conftest import Connection, Recorder, Running, counting_app, until, until_history, value

FLOOD = """
insert into pgsched.executions (client_id, target, fire_at)
select 'flood', 'python:noop', now() - interval '1 minute' + %s * n * interval '1 ms'
  from generate_series(1, 5000) n"""
OTHERS = """
insert into pgsched.executions (target, fire_at)
select 'python:noop', now() - %s::interval from generate_series(1, 20)"""
ONE_A_PARTITION = """
insert into pgsched.executions (client_id, target, fire_at, partition)
select %s, 'python:noop', now() - interval '35 seconds', n from generate_series(0, 15) n"""
BACKLOG = """
insert into pgsched.executions (client_id, target, options, fire_at)
select %s, 'python:slow', %s, now() - interval '1 minute' from generate_series(1, %s)"""
JOB = """
with job as (
  insert into pgsched.jobs (target, every, anchor, accounted_to, rules, planned_revision)
  values ('python:noop', '1 minute', now() - interval '59.5 minutes', now() - interval '61 minutes',
          '{"on_missed": "all", "on_overlap": "allow", "catch_up": "10h"}', 1) returning id, anchor)
insert into pgsched.executions (target, fire_at, scheduled_for, job_id, plan, partition)
select 'python:noop', anchor, anchor, id, 1, 5 from job"""
HELD = "select count(*) > 0 from pgsched.executions where gate = 'client:flood'"
DONE = "select count(*) = 20 from pgsched.history where client_id = 'default'"
ENDED = "select count(*) from pgsched.history where client_id = %s"
LIMIT = "insert into pgsched_internal.gates (name, events, period) values (%s, 1, %s)"
POLL = 1.0


@pytest.fixture
async def shut(db: Connection, monkeypatch: pytest.MonkeyPatch) -> Connection:
    """A database whose client ``flood`` has used up its limit of this hour. The sweeper reads in small parts."""
    monkeypatch.setattr(sweeper, "_PART", 50)
    await db.execute(LIMIT.encode(), ["client:flood", "1 hour"])
    return db


@pytest.fixture
def app() -> App:
    found = App()

    @found.handler("noop")
    async def noop() -> None:
        pass

    return found


def _spin() -> None:
    while True:
        pass


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Four busy processes per core."""
    spinning = [multiprocessing.get_context("fork").Process(target=_spin) for _ in range(4 * (os.cpu_count() or 1))]
    for process in spinning:
        process.start()
    yield
    for process in spinning:
        process.kill()
        process.join()


async def seconds_until_found(silent: Connection, *, client: str = "default") -> float:
    """Insert a row behind the front of each partition, and wait until all these rows have ended."""
    before = await value(silent, ENDED, client)
    started = time.monotonic()
    await silent.execute(ONE_A_PARTITION.encode(), [client])

    async def all_ended() -> bool:
        return bool(await value(silent, ENDED, client) == before + 16)

    await until(all_ended)
    return time.monotonic() - started


@pytest.mark.parametrize("spread", [10, 0])
async def test_other_clients_overdue_rows_are_found_amid_a_backlog(
    shut: Connection, running: Running, app: App, spread: int
) -> None:
    await shut.execute(FLOOD.encode(), [spread])
    await shut.execute(OTHERS.encode(), ["35 seconds" if spread else "1 minute"])
    async with running(app):
        await until(lambda: value(shut, DONE))


async def test_thousands_of_rows_at_nearly_the_same_instant_are_all_found(
    shut: Connection, running: Running, app: App
) -> None:
    await shut.execute(FLOOD.encode(), [10])
    await shut.execute(
        "insert into pgsched.executions (target, fire_at)"
        " select 'python:noop', now() - interval '35 seconds' + n * interval '1 us' from generate_series(1, 5000) n"
    )
    async with running(app):
        await until(lambda: value(shut, "select count(*) = 5000 from pgsched.history where client_id = 'default'"))


async def test_rows_inserted_behind_the_claim_position_are_found(
    shut: Connection, silent: Connection, running: Running, app: App
) -> None:
    await shut.execute(FLOOD.encode(), [10])
    async with running(app, poll_interval=0.5):
        await until(lambda: value(shut, HELD))
        await silent.execute(OTHERS.encode(), ["35 seconds"])
        await until(lambda: value(shut, DONE))


async def test_a_backlog_drains_after_its_limit_is_dropped(shut: Connection, running: Running, app: App) -> None:
    await shut.execute(FLOOD.encode(), [10])
    async with running(app):
        await until(lambda: value(shut, HELD))
        await shut.execute("delete from pgsched_internal.gates")
        await until_history(shut, 5000, seconds=30)


@pytest.mark.parametrize("workers", [1, 4])
async def test_rows_behind_a_limited_clients_backlog_are_found_promptly(
    db: Connection, silent: Connection, running: Running, app: App, workers: int
) -> None:
    """The limit lets one execution pass per second, so the client is skipped at some times and not at others."""
    await db.execute(LIMIT.encode(), ["client:flood", "1 second"])
    await db.execute(FLOOD.encode(), [1])
    async with AsyncExitStack() as stack:
        for _ in range(workers):
            await stack.enter_async_context(running(app))
        await until(lambda: value(db, HELD))
        found = [await seconds_until_found(silent) for _ in range(6)]
    assert min(found) < 2 * POLL, found


@pytest.mark.timed
@pytest.mark.usefixtures("busy_machine")
async def test_rows_behind_a_paused_clients_backlog_are_found_on_a_busy_machine(
    db: Connection, silent: Connection, running: Running, app: App
) -> None:
    await db.execute("select pgsched.pause('client', 'flood')")
    await db.execute(FLOOD.encode(), [1])
    async with running(app):
        await until(lambda: value(db, HELD))
        for _ in range(3):
            await seconds_until_found(silent)


@pytest.mark.parametrize("concurrency", [1, 20])
async def test_a_saturated_worker_finds_rows_behind_its_claim_position(
    db: Connection, silent: Connection, running: Running, app: App, concurrency: int
) -> None:
    """One client is over its limit, one is held, one exceeds its share, and one has a higher priority."""

    @app.handler("slow")
    async def slow() -> None:
        await asyncio.sleep(0.01)

    await db.execute("insert into pgsched.clients (client_id) values ('greedy'), ('urgent'), ('late')")
    await db.execute(LIMIT.encode(), ["client:flood", "1 second"])
    await db.execute("select pgsched.pause('client', 'held')")
    for client, options, count in (("flood", "{}", 500), ("held", "{}", 500), ("greedy", "{}", 20_000)):
        await db.execute(BACKLOG.encode(), [client, options, count])
    await db.execute(BACKLOG.encode(), ["urgent", '{"priority": 5}', 5_000])
    async with running(app, concurrency=concurrency):
        await until(lambda: value(db, HELD))
        for _ in range(2):
            await seconds_until_found(silent, client="late")


async def test_missed_runs_behind_a_limited_clients_backlog_are_decided_quickly(
    db: Connection, running: Running, app: App
) -> None:
    await db.execute(LIMIT.encode(), ["client:flood", "1 second"])
    await db.execute(FLOOD.encode(), [1])
    await db.execute(JOB)
    async with running(app):
        await until(lambda: value(db, "select count(*) = 60 from pgsched.history where job_id is not null"))


async def test_an_unnotified_row_behind_the_low_mark_is_found(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, app: App
) -> None:
    async with running(app):
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.schedule('python:noop')")
        await until_history(db, 1)
        await seconds_until_found(silent)


async def test_several_unnotified_rows_in_one_partition_are_all_found(
    db: Connection, silent: Connection, running: Running, recorder: Recorder
) -> None:
    app, calls = counting_app()
    async with running(app):
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 1)
        await silent.execute(
            "insert into pgsched.executions (target, payload, fire_at, partition)"
            " select 'python:count', '{}', now() - n * interval '1 second', 5 from generate_series(10, 59) n"
        )
        await until_history(db, 51)
    assert len(calls) == len(set(calls)) == 51


async def test_rows_are_found_after_the_sweep_connection_is_cut(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, app: App
) -> None:
    sessions = "pg_stat_activity where application_name like 'pgsched sweep %%'"
    cut = f"select count(pg_terminate_backend(pid)) > 0 from {sessions}"
    await db.execute(LIMIT.encode(), ["client:flood", "1 hour"])
    await db.execute(FLOOD.encode(), [1])
    async with running(app):
        await until(lambda: value(db, cut))
        await seconds_until_found(silent)


async def test_a_sweep_without_partitions_does_not_fail(db: Connection, running: Running, recorder: Recorder) -> None:
    async with running(poll_interval=30.0) as worker:
        await recorder.wait_for("worker.joined")
        worker.parts.assignment.open, worker.parts.assignment.own = [], []
        await worker.parts.sweeper.turn()
        assert recorder.named("service.failed") == []


async def test_an_idle_worker_finds_rows_in_a_busy_workers_partitions(
    db: Connection, silent: Connection, running: Running, recorder: Recorder, app: App
) -> None:
    async with running(app, poll_interval=0.5) as busy, running(app, poll_interval=0.5):

        async def has_half() -> bool:
            return len(busy.parts.assignment.own) == 8

        await until(has_half)
        for service in (busy.parts.claimer, busy.parts.sweeper):
            service.stop()  # as if the worker had had no room for a long time
        await seconds_until_found(silent)
