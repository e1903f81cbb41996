"""If an execution has only one attempt, its start is committed before its target is called."""

import asyncio
import threading
import time

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.domain.execution import ClaimedExecution
from tests.worker.apart import until_set, until_true
from tests.worker.conftest import Connection, Running, until, until_history, value

ONCE = """select pgsched.schedule(%s, options => '{"max_attempts": 1}')"""
BEGUN = "select count(*) from pgsched.executions where begun = lease_token"


async def test_an_only_attempts_start_is_recorded_while_it_runs(db: Connection, running: Running) -> None:
    app, go, begun = App(), asyncio.Event(), asyncio.Event()

    @app.handler("wait")
    async def wait() -> None:
        begun.set()
        await go.wait()

    async with running(app):
        await db.execute(ONCE, ["python:wait"])
        await db.execute("select pgsched.schedule('python:wait')")
        await begun.wait()
        await until(lambda: value(db, BEGUN))
        await until(lambda: value(db, "select bool_and(attempt = 1) from pgsched.executions"))
        assert await value(db, BEGUN) == 1
        go.set()
        await until_history(db, 2)


async def test_a_row_waiting_for_a_slot_is_not_recorded_as_begun(db: Connection, running: Running) -> None:
    app, go, begun = App(), threading.Event(), threading.Event()

    @app.handler("keep")
    def keep(context: Context) -> None:
        begun.set()
        go.wait(30)

    async with running(app, handler_threads=1) as worker:
        await db.execute(ONCE, ["python:keep"])
        await until_set(begun)
        await db.execute(ONCE, ["python:keep"])
        await until_true(lambda: worker.parts.dispatcher._waiting.count == 1)
        await until(lambda: value(db, BEGUN.replace("count(*)", "count(*) = 1")))
        go.set()
        await until_history(db, 2)


async def test_a_row_leased_elsewhere_before_its_start_does_not_start_here(
    db: Connection, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, called = App(), list[str]()

    @app.handler("note")
    async def note(context: Context) -> None:
        called.append(context.execution_id)

    async with running(app) as worker:
        note_beginning = worker.parts.beginnings.note

        async def too_late(row: ClaimedExecution, *, begun: bool = True) -> bool:
            await db.execute("update pgsched.executions set lease_owner = 99, lease_token = 99")
            return bool(await note_beginning(row, begun=begun))

        monkeypatch.setattr(worker.parts.beginnings, "note", too_late)
        await db.execute(ONCE, ["python:note"])
        await until(lambda: value(db, "select lease_owner = 99 from pgsched.executions"))
        await until(lambda: _is_empty(worker.parts.dispatcher.in_hand.rows))
    assert not called
    assert await value(db, "select lease_token = 99 from pgsched.executions")


async def test_a_row_whose_lease_becomes_doubtful_at_its_start_is_handed_back(
    db: Connection, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, noted = App(), list[bool | str]()

    @app.handler("note")
    async def note() -> None:
        noted.append("called")

    async with running(app) as worker:
        note_beginning = worker.parts.beginnings.note

        async def while_others_keep_the_loop(row: ClaimedExecution, *, begun: bool = True) -> bool:
            found = await note_beginning(row, begun=begun)
            if not noted:
                worker.parts.dispatcher.tenure.give_up(time.monotonic())
            noted.append(begun)
            return bool(found)

        monkeypatch.setattr(worker.parts.beginnings, "note", while_others_keep_the_loop)
        await db.execute(ONCE, ["python:note"])
        await until_history(db, 1)
    assert noted == [True, False, True, "called"]


async def _is_empty(found: object) -> bool:
    return not found


async def test_an_only_attempt_ended_by_a_drain_is_not_repeated(db: Connection, running: Running) -> None:
    app, begun = App(), asyncio.Event()

    @app.handler("endless")
    async def endless() -> None:
        begun.set()
        await asyncio.sleep(3600)

    async with running(app, drain_timeout=0.2):
        await db.execute(ONCE, ["python:endless"])
        await begun.wait()
    assert await value(db, "select reason from pgsched.history where status = 'failed'") == (
        "its worker was stopped during the only attempt"
    )
