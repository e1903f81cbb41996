"""Executions that follow other executions, and targets called when an execution ends, with a whole worker."""

from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Fail
from tests.worker.conftest import Connection, Running, until, until_history, value

pytestmark = pytest.mark.smoke

SCHEDULE = "select pgsched.schedule(%s, to_jsonb(%s::text), key => %s, after => %s::text[], options => %s::jsonb)::text"
NOBODY_WAITS = "select not exists (select from pgsched.dependencies)"


def noting_app() -> tuple[App, list[Any]]:
    """Handlers ``note``, which records its payload, and ``fail``, which also fails for good."""
    app, noted = App(), list[Any]()

    @app.handler("note")
    async def note(payload: Any) -> None:
        noted.append(payload)

    @app.handler("fail")
    async def fail(payload: Any) -> None:
        noted.append(payload)
        raise Fail("no use")

    return app, noted


async def schedule(db: Connection, target: str, key: str, *after: str, options: str = "{}") -> str:
    id = await value(db, SCHEDULE, target, key, key, list(after) or None, options)
    assert isinstance(id, str)
    return id


async def test_a_dependency_chain_runs_in_order(db: Connection, running: Running) -> None:
    app, noted = noting_app()
    async with running(app):
        async with db.transaction():
            await schedule(db, "python:note", "first")
            await schedule(db, "python:note", "second", "first")
            await schedule(db, "python:note", "third", "first", "second")
        await until_history(db, 3)
    assert noted == ["first", "second", "third"]
    assert await value(db, NOBODY_WAITS)


async def test_a_dependency_chain_does_not_wait_for_polls(db: Connection, running: Running) -> None:
    app, noted = noting_app()
    async with running(app, poll_interval=30.0) as worker:
        worker.parts.upkeep.releaser._every = 30.0
        await until(lambda: value(db, "select count(*) from pgsched.workers"))
        async with db.transaction():
            await schedule(db, "python:note", "0")
            for n in range(1, 20):
                await schedule(db, "python:note", str(n), str(n - 1))
        await until_history(db, 20, seconds=10)
    assert noted == [str(n) for n in range(20)]


async def test_a_failure_skips_dependents_and_calls_the_on_failure_target(db: Connection, running: Running) -> None:
    app, noted = noting_app()
    async with running(app):
        async with db.transaction():
            first = await schedule(db, "python:fail", "first", options='{"on_failure": "python:note"}')
            await schedule(db, "python:note", "second", "first")
            await schedule(db, "python:note", "third", "second")
        await until_history(db, 2, status="skipped")
        await until_history(db, 1)
    assert noted[0] == "first"
    [told] = noted[1:]
    assert (told["execution"], told["key"], told["status"], told["attempt"]) == (first, "first", "failed", 1)
    assert "no use" in told["reason"]


async def test_the_on_success_target_is_called_even_without_a_result(db: Connection, running: Running) -> None:
    app, noted = noting_app()
    async with running(app):
        await schedule(db, "python:note", "it", options='{"on_success": "python:note"}')
        await until_history(db, 2)
    assert noted[0] == "it"
    assert [told["status"] for told in noted[1:]] == ["succeeded"]


async def test_completion_in_the_handlers_transaction_releases_dependents(db: Connection, running: Running) -> None:
    app, noted = noting_app()

    @app.handler("write")
    async def write(payload: Any, connection: Connection) -> None:
        await connection.execute("create table written (by text)")

    async with running(app):
        async with db.transaction():
            await schedule(db, "python:write", "first", options='{"on_success": "python:note"}')
            await schedule(db, "python:note", "second", "first")
        await until_history(db, 3)
    assert len(noted) == 2
    assert "second" in noted
    assert await value(db, "select to_regclass('written') is not null")


async def test_the_on_expired_target_is_called_when_an_execution_expires(db: Connection, running: Running) -> None:
    app, noted = noting_app()
    async with running(app):
        await db.execute(
            "select pgsched.schedule('python:note', fire_at => now() - interval '1 minute',"
            """ options => '{"relevant_for": "1s", "on_expired": "python:note"}')"""
        )
        await until_history(db, 1, status="expired")
        await until_history(db, 1)
    assert [told["status"] for told in noted] == ["expired"]
