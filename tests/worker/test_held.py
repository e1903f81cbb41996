"""A worker on a copied or restored database claims nothing until the installation is released."""

from typing import Any

import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Recorder, Running, until_history, value

pytestmark = pytest.mark.smoke

_NOTED_ELSEWHERE = """
select pgsched_internal.check_same_server();
update pgsched_internal.fleet set system_identifier = system_identifier - 1"""
_CUT = """
select pg_terminate_backend(pid, 10000) from pg_stat_activity
 where application_name like %s and datname = current_database()"""


def noting_app() -> tuple[App, list[Any]]:
    app, calls = App(), list[Any]()

    @app.handler("note")
    async def note(payload: Any) -> None:
        calls.append(payload)

    return app, calls


async def test_a_worker_on_a_copied_database_claims_nothing_until_released(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, calls = noting_app()
    await db.execute(_NOTED_ELSEWHERE.encode())
    await db.execute("select pgsched.schedule('python:note', '1')")
    async with running(app) as worker:
        held = await recorder.wait_for("installation.held")
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.schedule('python:note', '2')")  # its notification changes nothing
        assert "this database is a copy" in str(held["why"])
        await worker.parts.claimer.turn()
        assert (worker.parts.assignment.open, calls) == ([], [])
        await db.execute("select pgsched.resume('installation')")
        await until_history(db, 2)
        await recorder.wait_for("installation.released")
    assert sorted(calls) == [1, 2]
    assert len(recorder.named("installation.held")) == 1
    assert recorder.named("service.failed") == []


async def test_a_worker_that_reconnects_to_another_server_stops_claiming(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, calls = noting_app()
    async with running(app):
        await db.execute("select pgsched.schedule('python:note', '1')")
        await db.execute("select pgsched.schedule('python:note', '3', delay => '1 hour')")  # only waiting work is held
        await until_history(db, 1)
        await db.execute("update pgsched_internal.fleet set system_identifier = system_identifier - 1")
        await db.execute(_CUT, ["pgsched %"])
        await db.execute("select pgsched.schedule('python:note', '2')")
        await recorder.wait_for("installation.held")
        assert await value(db, "select count(*) from pgsched.executions where lease_token is null") == 2
        await db.execute("select pgsched.resume('installation')")
        await until_history(db, 2)
    assert calls == [1, 2]
