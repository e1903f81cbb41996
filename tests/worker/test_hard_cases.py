"""What must not stop a worker: misbehaving handlers, malicious rows, edits at the wrong moment."""

import asyncio
import time
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.store.jobs.unplanned_jobs import plan_jobs
from tests.worker.conftest import Connection, Running, until, until_history, value


class Panic(BaseException):
    """Raised by foreign code, and not an ``Exception``."""


async def test_a_lane_survives_a_base_exception_raised_by_a_handler(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("panic")
    async def panic() -> None:
        raise Panic("broken")

    async with running(app, concurrency=1):
        await db.execute("""select pgsched.schedule('python:panic', options => '{"max_attempts": 1}')""")
        await until_history(db, 1, status="failed")
        await db.execute("""select pgsched.schedule('python:panic', options => '{"max_attempts": 1}')""")
        await until_history(db, 2, status="failed")
    assert await value(db, "select reason from pgsched.history limit 1") == "Panic: broken"


async def test_a_handler_that_ignores_cancellation_does_not_block_the_drain(
    db: Connection, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.worker.run.dispatcher._DEAF_AFTER", 0.2)
    app, started, end = App(), asyncio.Event(), asyncio.Event()

    @app.handler("deaf")
    async def deaf() -> None:
        started.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue

    async with running(app, drain_timeout=0.1) as worker:
        await db.execute("select pgsched.schedule('python:deaf')")
        await started.wait()
        began = time.monotonic()
    assert time.monotonic() - began < 60  # unbounded, the drain would never end
    assert worker.has_stragglers
    assert await value(db, "select lease_token is null from pgsched.executions")
    end.set()


async def test_a_backlog_of_many_batches_drains(db: Connection, running: Running) -> None:
    app, done = App(), set[str]()

    @app.handler("mark")
    async def mark(payload: Any, context: Context) -> None:
        done.add(context.execution_id)

    await db.execute(
        "insert into pgsched.executions (target, fire_at) select 'python:mark', now() from generate_series(1, 3000)"
    )
    async with running(app, concurrency=50, batch=20):
        await until_history(db, 3000, seconds=30)
    assert len(done) == 3000


@pytest.mark.parametrize(
    "statement",
    [
        "insert into pgsched.executions (target, fire_at, attempt) values ('python:x', now(), 32767)",
        "insert into pgsched.executions (target, fire_at, scheduled_for) values ('python:x', now(), 'infinity')",
        "insert into pgsched.jobs (target, every, anchor) values ('python:x', '1 hour', 'infinity')",
        "insert into pgsched.jobs (target, every, anchor) values ('python:x', '1 hour', '9999-12-31 23:59+00')",
        "insert into pgsched_internal.signing_secrets values ('default', sha256(''), 'LaSw')",
    ],
)
async def test_a_row_that_no_worker_could_read_is_refused(db: Connection, statement: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await db.execute(statement.encode())


async def test_the_next_run_of_an_edited_job_follows_the_run_in_flight(db: Connection) -> None:
    job = await value(db, "select pgsched.schedule('python:x', every => '1 second', key => 'tick')")
    await plan_jobs(db, batch=10, seconds=60)
    await db.execute(
        "update pgsched.executions set fire_at = now() + interval '0.2 s', scheduled_for = now() + interval '0.2 s', "
        "lease_token = 1, lease_owner = 1, lease_expires_at = now() + interval '1 minute', attempt = 1"
    )
    in_hand = await value(db, "select scheduled_for from pgsched.executions")
    await db.execute("update pgsched.jobs set anchor = %s", [in_hand])
    await db.execute("select pgsched.schedule('python:y', every => '1 second', key => 'tick')")
    await plan_jobs(db, batch=10, seconds=60)
    query = "select scheduled_for from pgsched.executions where job_id = %s and lease_token is null"
    assert await value(db, query, job) - in_hand == timedelta(seconds=1)


async def test_a_running_worker_keeps_its_rows_in_an_outage_beyond_its_lease(db: Connection, running: Running) -> None:
    app, reached, go, calls = App(), asyncio.Event(), asyncio.Event(), list[int]()

    @app.handler("slow")
    async def slow(payload: Any, context: Context) -> None:
        calls.append(context.attempt)
        reached.set()
        await go.wait()

    async with running(app, lease=2.0) as worker:
        await db.execute("""select pgsched.schedule('python:slow', '{}', options => '{"max_attempts": 1}')""")
        await reached.wait()
        error = psycopg.OperationalError("the database went away")
        await worker.parts.upkeep.reaper.recover(error)
        await db.execute("update pgsched.executions set lease_expires_at = now() - interval '1 second'")
        await db.execute("update pgsched.workers set expires_at = now() - interval '1 second'")
        await worker.parts.upkeep.reaper.turn()
        assert await value(db, "select lease_token is not null from pgsched.executions")
        go.set()
        await until_history(db, 1)
    assert calls == [1]


async def test_a_client_cannot_insert_rows_of_another_clients_job(db: Connection, database_url: str) -> None:
    role = f"shop_{time.monotonic_ns()}"
    job = await value(db, "select pgsched.schedule('python:x', every => '1 hour', client => 'other')")
    await db.execute(f"create role {role} in role pgsched_client".encode())
    try:
        await db.execute("insert into pgsched.clients (client_id, database_role) values ('shop', %s)", [role])
        await db.execute(f"set role {role}".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await db.execute(
                "insert into pgsched.executions (target, fire_at, client_id, job_id) "
                "values ('python:x', now(), 'shop', %s)",
                [job],
            )
    finally:
        await db.execute("reset role")
        await db.execute("delete from pgsched.clients where client_id = 'shop'")
        await db.execute(f"drop role {role}".encode())
    assert await until(lambda: value(db, "select count(*) = 0 from pgsched.executions where client_id = 'shop'"))
