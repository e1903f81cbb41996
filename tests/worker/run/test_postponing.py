"""A handler that snoozes has not failed: it consumes no attempt, and its job continues."""

from datetime import timedelta
from typing import Any

from pgsched.delivery.app import App
from pgsched.delivery.exception_outcomes import Snooze
from pgsched.delivery.handler_call import Context
from tests.worker.conftest import Connection, Running, until, until_history, value

SOON = "update pgsched.executions set fire_at = now() where fire_at > now() and lease_token is null returning 1"


async def test_a_snooze_consumes_no_attempt(db: Connection, running: Running) -> None:
    app, attempts = App(), list[int]()

    @app.handler("poll")
    async def poll(payload: Any, context: Context) -> None:
        attempts.append(context.attempt)
        if len(attempts) < 4:
            raise Snooze(timedelta(hours=1), "not ready")

    async with running(app):
        await db.execute("""select pgsched.schedule('python:poll', options => '{"max_attempts": 2}')""")
        for _ in range(3):
            await until(lambda: value(db, SOON))
        await until_history(db, 1)
    assert attempts == [1, 1, 1, 1]
    assert await value(db, "select attempt from pgsched.history") == 1
    assert await value(db, "select count(*) from pgsched.attempts") == 0


async def test_a_snooze_keeps_the_nominal_instant_and_records_its_reason(db: Connection, running: Running) -> None:
    app = App()

    @app.handler("poll")
    async def poll() -> None:
        raise Snooze(timedelta(hours=1), "not ready")

    async with running(app):
        await db.execute("select pgsched.schedule('python:poll', fire_at => now() - interval '1 minute')")
        waiting = "select 1 from pgsched.status where status = 'scheduled' and fire_at > now() + interval '50 minutes'"
        await until(lambda: value(db, waiting))
    assert await value(db, "select attempt = 0 and scheduled_for < now() from pgsched.executions")
    assert await value(db, "select reason from pgsched.executions") == "not ready"


async def test_a_job_is_planned_once_however_often_its_run_snoozes(db: Connection, running: Running) -> None:
    app, calls = App(), list[int]()

    @app.handler("poll")
    async def poll() -> None:
        calls.append(1)
        if len(calls) < 3:
            raise Snooze(timedelta(hours=1), "not ready")

    async with running(app):
        await db.execute("select pgsched.schedule('python:poll', every => '1 day', key => 'poll')")
        run = await until(lambda: value(db, "select id from pgsched.executions"))
        now = (
            "update pgsched.executions set fire_at = now(), scheduled_for = coalesce(scheduled_for, fire_at) "
            "where id = %s and fire_at > now() and lease_token is null returning 1"
        )
        for _ in range(3):
            await until(lambda: value(db, now, run))
        await until_history(db, 1)
    assert len(calls) == 3
    assert await value(db, "select count(*) from pgsched.executions") == 1
