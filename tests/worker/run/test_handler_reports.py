"""Progress and checkpoints of handlers: shown while they run, kept across attempts, refused without the lease."""

import asyncio
from concurrent.futures import Future
from typing import Any

import orjson
import psycopg
import pytest

from pgsched import Context, Retry
from pgsched.delivery.app import App
from pgsched.errors import StaleLease
from pgsched.store.admin import expired_rows
from pgsched.store.core.connect import Link
from pgsched.store.live import handler_reports
from pgsched.store.live.handler_reports import HandlerReport
from pgsched.worker.run.handler_reports import Reports
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Running, until, until_history, value

SOON = '{"backoff": ["1ms"]}'
PROGRESS = "select jsonb_build_array(round(fraction::numeric, 2), note, checkpoint) from pgsched.progress"


@pytest.mark.parametrize("is_async", [True, False])
async def test_progress_is_shown_and_the_next_attempt_gets_the_checkpoint(
    db: Connection, running: Running, is_async: bool
) -> None:
    app, may_go_on = App(), Future[None]()

    async def copy(payload: Any, context: Context, checkpoint: Any) -> Any:
        if checkpoint is not None:
            return [checkpoint, context.attempt]
        await context.checkpoint({"after": 400})
        await context.progress(0.4, "400 of 1,000")
        await asyncio.wrap_future(may_go_on)
        raise Retry("the other side hung up")

    def copy_in_a_thread(payload: Any, context: Context, checkpoint: Any) -> Any:
        if checkpoint is not None:
            return [checkpoint, context.attempt]
        context.checkpoint({"after": 400})
        context.progress(0.4, "400 of 1,000")
        may_go_on.result()
        raise Retry("the other side hung up")

    app.handler("copy")(copy if is_async else copy_in_a_thread)
    async with running(app):
        await db.execute("select pgsched.schedule('python:copy', client => 'shop', options => %s::jsonb)", [SOON])
        seen = [0.4, "400 of 1,000", {"after": 400}]
        await until(lambda: value(db, f"select ({PROGRESS}) = %s::jsonb", orjson.dumps(seen).decode()))
        may_go_on.set_result(None)
        await until_history(db, 1)
    assert await value(db, "select result from pgsched.history") == [{"after": 400}, 2]
    assert await value(db, "select error from pgsched.attempts") == "the other side hung up"


async def leased(db: Connection, *, token: int) -> HandlerReport:
    """A leased execution without any report."""
    id = await value(db, "select pgsched.schedule('python:copy', client => 'shop')")
    leased = "lease_token = %s, lease_owner = 1, lease_expires_at = now() + interval '30 s'"
    await db.execute(f"update pgsched.executions set {leased} where id = %s".encode(), [token, id])
    return HandlerReport(id, token)


async def test_a_partial_report_keeps_other_values_but_replaces_the_note(db: Connection) -> None:
    row = await leased(db, token=7)
    for said in (
        {"fraction": 0.25, "note": "a quarter"},
        {"checkpoint": "[1]"},
        {"fraction": 0.5},
        {"checkpoint": "[2]"},
    ):
        assert await handler_reports.keep(db, [row._replace(**said)]) == {row.id}
    assert await value(db, PROGRESS) == [0.5, None, [2]]


async def test_a_report_with_a_stale_lease_is_refused_and_valid_reports_are_kept(db: Connection) -> None:
    lost, held = await leased(db, token=7), await leased(db, token=8)
    said = [row._replace(checkpoint="1") for row in (lost._replace(token=6), held)]
    assert await handler_reports.keep(db, said) == {held.id}
    assert await handler_reports.checkpoint_of(db, lost.id) is None
    await db.execute("delete from pgsched.executions where id = %s", [held.id])
    assert await handler_reports.keep(db, [held._replace(checkpoint="2")]) == set()
    assert await handler_reports.checkpoint_of(db, held.id) == 1


async def test_reports_of_ended_executions_are_deleted(db: Connection) -> None:
    rows = [await leased(db, token=7) for _ in range(3)]
    await handler_reports.keep(db, [row._replace(fraction=0.5) for row in rows])
    await db.execute("delete from pgsched.executions where id <> %s", [rows[1].id])
    assert [await expired_rows.delete_progress(db, most=1) for _ in range(3)] == [1, 1, 0]
    assert await value(db, "select execution_id from pgsched.progress") == rows[1].id


async def test_a_checkpoint_after_losing_the_lease_raises_stale_lease(db: Connection, database_url: str) -> None:
    row = await leased(db, token=7)
    kept = Reports(Link(database_url, "reports", raw=False))
    loop = asyncio.get_running_loop()
    try:
        for token, error in ((7, None), (6, StaleLease)):
            waiting: asyncio.Future[None] = loop.create_future()
            at = execution("python:copy", id=row.id.bytes, token=token)
            kept.checkpoint(at, '"here"', waiting)
            await asyncio.wait([waiting])
            assert type(waiting.exception()) is (error or type(None))
        assert await kept.read(at) == "here"
    finally:
        await kept.close()


async def test_during_an_outage_checkpoints_fail_and_progress_is_dropped() -> None:
    kept = Reports(Link("postgresql://nobody@127.0.0.1:1/nowhere", "reports", raw=False))
    try:
        kept.progress(execution("python:copy"), 0.5, None)
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        kept.checkpoint(execution("python:copy"), "1", waiting)
        with pytest.raises(psycopg.OperationalError):
            await waiting
        with pytest.raises(psycopg.OperationalError):
            await kept.read(execution("python:copy"))
    finally:
        await kept.close()


async def test_waiting_and_later_checkpoints_fail_when_reports_are_closed(database_url: str) -> None:
    kept = Reports(Link(database_url, "reports", raw=False))
    waiting: list[Future[None]] = [Future(), Future()]
    kept.checkpoint(execution("python:copy"), "1", waiting[0])
    await kept.close()
    kept.checkpoint(execution("python:copy"), "1", waiting[1])
    kept.progress(execution("python:copy"), 1, None)
    assert [type(one.exception(timeout=0)) for one in waiting] == [StaleLease, StaleLease]
