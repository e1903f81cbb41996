"""Locks of a client's open transaction do not keep other outcomes from being recorded."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value


@pytest.fixture
async def holder(database_url: str) -> AsyncIterator[Connection]:
    """A session for a transaction that stays open and locks rows."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        yield connection
        await connection.rollback()


class Gate:
    """An app with the handlers ``wait``, which sets ``begun`` and waits for ``go``, and ``quick``."""

    def __init__(self) -> None:
        self.app, self.begun, self.go = App(), asyncio.Event(), asyncio.Event()
        self.runs = 0

        @self.app.handler("wait")
        async def wait() -> None:
            self.runs += 1
            self.begun.set()
            await self.go.wait()

        @self.app.handler("quick")
        async def quick() -> None:
            pass


async def ended(db: Connection, target: str, count: int) -> None:
    query = "select count(*) = %s from pgsched.history where target = %s and status = 'succeeded'"
    await until(lambda: value(db, query, count, target))


async def test_a_locked_row_does_not_block_other_outcomes(db: Connection, holder: Connection, running: Running) -> None:
    gate = Gate()
    async with running(gate.app):
        await db.execute("select pgsched.schedule('python:wait', client => 'shop', key => 'mine')")
        await gate.begun.wait()
        await holder.execute("select from pgsched.executions where key = 'mine' for update")
        gate.go.set()
        await db.execute("select pgsched.schedule('python:quick') from generate_series(1, 50)")
        await ended(db, "python:quick", 50)
        assert await value(db, "select count(*) from pgsched.history where key = 'mine'") == 0
        await holder.rollback()
        await ended(db, "python:wait", 1)
    assert gate.runs == 1


async def test_a_prepared_transaction_does_not_block_other_outcomes(
    db: Connection, database_url: str, running: Running
) -> None:
    gate = Gate()
    async with running(gate.app):
        await db.execute("select pgsched.schedule('python:wait', client => 'shop', key => 'mine')")
        await gate.begun.wait()
        async with await psycopg.AsyncConnection.connect(database_url) as session:
            await session.execute("select from pgsched.executions where key = 'mine' for update")
            await session.execute("prepare transaction 'left behind'")
        gate.go.set()
        await db.execute("select pgsched.schedule('python:quick') from generate_series(1, 50)")
        await ended(db, "python:quick", 50)
        assert await value(db, "select count(*) from pgsched.history where key = 'mine'") == 0
        await db.execute("rollback prepared 'left behind'")
        await ended(db, "python:wait", 1)
    assert gate.runs == 1


@pytest.mark.parametrize(
    "statement",
    [
        "select pgsched.schedule('python:quick', client => 'shop', key => 'mine')",
        "select pgsched.schedule('python:quick', client => 'shop', key => 'mine', on_conflict => 'debounce')",
        "select pgsched.schedule('python:quick', client => 'shop', after => array['mine'])",
    ],
)
async def test_an_open_transaction_that_schedules_blocks_no_other_outcomes(
    db: Connection, holder: Connection, running: Running, statement: str
) -> None:
    gate = Gate()
    async with running(gate.app):
        await db.execute("select pgsched.schedule('python:wait', client => 'shop', key => 'mine')")
        await gate.begun.wait()
        await holder.execute(statement.encode())
        gate.go.set()
        await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 50)")
        await until(
            lambda: value(db, "select count(*) = 50 from pgsched.history where client_id = 'other'"),
        )
        await holder.commit()
        await ended(db, "python:wait", 1)
    assert gate.runs == 1


async def test_locked_rows_do_not_use_up_the_workers_room(db: Connection, holder: Connection, running: Running) -> None:
    gate = Gate()
    async with running(gate.app, concurrency=4):
        await db.execute("select pgsched.schedule('python:wait', client => 'shop') from generate_series(1, 4)")
        await until(lambda: _all(gate, 4))
        await holder.execute("select from pgsched.executions where client_id = 'shop' for update")
        gate.go.set()
        await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 50)")
        await ended(db, "python:quick", 50)
        await holder.rollback()
        await ended(db, "python:wait", 4)
    assert gate.runs == 4


async def _all(gate: Gate, count: int) -> bool:
    return gate.runs == count


async def test_a_locked_job_does_not_block_other_outcomes(db: Connection, holder: Connection, running: Running) -> None:
    gate = Gate()
    async with running(gate.app):
        call = """select pgsched.schedule('python:wait', every => '1 hour', key => 'mine', client => 'shop',
                  rules => '{"pause_after": 3}')"""
        job = await value(db, call)
        await db.execute("select pgsched.trigger(%s)", [job])
        await gate.begun.wait()
        await holder.execute("select from pgsched.jobs where key = 'mine' for update")
        gate.go.set()
        await db.execute("select pgsched.schedule('python:quick') from generate_series(1, 50)")
        await ended(db, "python:quick", 50)
        await holder.rollback()
        await ended(db, "python:wait", 1)


async def test_a_result_that_cannot_be_stored_does_not_lose_the_outcome(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()
    await db.execute("alter table pgsched.history add constraint plain check (result is null or not result ? 'odd')")

    @app.handler("bad")
    async def bad() -> Any:
        return {"odd": 1}

    @app.handler("quick")
    async def quick() -> Any:
        return {"fine": True}

    async with running(app):
        await db.execute("select pgsched.schedule('python:bad')")
        await db.execute("select pgsched.schedule('python:quick') from generate_series(1, 20)")
        await until_history(db, 21)
    assert await value(db, "select count(*) from pgsched.history where result is not null") == 20
    assert "cannot be stored" in await value(db, "select reason from pgsched.history where target = 'python:bad'")
    assert not recorder.named("execution.parked")


async def test_an_execution_whose_end_cannot_be_recorded_is_parked(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    gate = Gate()
    await db.execute("alter table pgsched.history add constraint no_shop check (client_id <> 'shop')")
    async with running(gate.app):
        await db.execute("select pgsched.schedule('python:quick', client => 'shop')")
        await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 20)")
        await ended(db, "python:quick", 20)
        parked = await recorder.wait_for("execution.parked")
    assert parked["how"] == "held"
    row = await (
        await db.execute("select gate, reason, lease_token, attempt, fire_at = 'infinity' from pgsched.executions")
    ).fetchone()
    assert row is not None
    assert row[0] == "error"
    assert "no_shop" in row[1]
    assert row[2:] == (None, 0, True)


LOCK = "select from pgsched.jobs where key = 'mine' for update"


@pytest.mark.parametrize(
    ("statement", "rules"),
    [
        (LOCK, "{}"),
        (LOCK, '{"max_runs": 5}'),
        (LOCK, '{"after_completion": true}'),
        (LOCK, '{"on_overlap": "queue_one"}'),
        ("select pgsched.edit(id, '{\"every\": \"2h\"}') from pgsched.jobs where key = 'mine'", '{"max_runs": 5}'),
        ("select pgsched.pause('job', id::text) from pgsched.jobs where key = 'mine'", '{"after_completion": true}'),
        ("update pgsched.jobs set labels = '{}' where key = 'mine'", "{}"),
    ],
)
async def test_a_locked_job_does_not_stop_other_jobs(
    db: Connection, holder: Connection, running: Running, statement: str, rules: str
) -> None:
    gate = Gate()
    mine = "select pgsched.schedule('python:quick', every => '1 second', key => 'mine', client => 'shop', rules => %s)"
    await db.execute(mine.encode(), [rules])
    await db.execute(
        "select pgsched.schedule('python:quick', every => '1 second', key => 'other-' || n, client => 'other')"
        " from generate_series(1, 5) n"
    )
    async with running(gate.app):
        await until(lambda: value(db, "select count(*) > 5 from pgsched.executions"))
        await holder.execute(statement.encode())
        before = await value(db, "select count(*) from pgsched.history where client_id = 'other'")
        await until(
            lambda: value(db, "select count(*) >= %s from pgsched.history where client_id = 'other'", before + 10),
        )
        await holder.rollback()
        done = await value(db, "select count(*) from pgsched.history where client_id = 'shop'")
        await until(lambda: value(db, "select count(*) > %s from pgsched.history where client_id = 'shop'", done))
    assert await value(db, "select count(*) from pgsched.jobs where state <> 'active'") == 0


async def test_a_locked_limit_delays_only_its_own_executions(
    db: Connection, holder: Connection, running: Running
) -> None:
    gate = Gate()
    for client in ("shop", "fine"):
        await db.execute("select pgsched.set_limit('client', %s, rate => 1000, per => '1 second')", [client])
    async with running(gate.app):
        await holder.execute("select from pgsched_internal.gates where name = 'client:shop' for update")
        await db.execute("select pgsched.schedule('python:quick', client => 'shop') from generate_series(1, 20)")
        await db.execute("select pgsched.schedule('python:quick', client => 'fine') from generate_series(1, 20)")
        await db.execute("select pgsched.schedule('python:quick', client => 'other') from generate_series(1, 20)")
        await until(lambda: value(db, "select count(*) = 40 from pgsched.history where client_id <> 'shop'"))
        await holder.rollback()
        await ended(db, "python:quick", 60)
