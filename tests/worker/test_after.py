"""A job's run waits for another job's run of the same day, and starts once that run has ended."""

import asyncio

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Running, until, until_history, value

JOB = """
insert into pgsched.jobs (key, target, cron, planned_revision, created_at, rules)
values (%(key)s::text, 'python:' || %(key)s::text, '0 2 * * *', 1, '2025-01-01', %(rules)s::jsonb)"""
ROW = """
insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)
select '2025-03-04 02:00+00', '2025-03-04 02:00+00', j.id, 1, pgsched_internal.partition_of(j), j.client_id, j.target
  from pgsched.jobs j where j.key = %(key)s"""


async def test_a_run_starts_as_soon_as_its_predecessor_has_ended(running: Running, db: Connection) -> None:
    told: list[str] = []
    may_end = asyncio.Event()
    app = App()

    @app.handler("import")
    async def first() -> None:
        await may_end.wait()
        told.append("import")

    @app.handler("report")
    async def second() -> None:
        told.append("report")

    for key, rules in (
        ("report", '{"after": {"job": "import"}, "ends_at": "2025-03-05T00:00:00Z"}'),
        ("import", '{"ends_at": "2025-03-05T00:00:00Z"}'),
    ):
        await db.execute(JOB, {"key": key, "rules": rules})
        await db.execute(ROW, {"key": key})
    async with running(app, poll_interval=30.0):
        await until(lambda: value(db, "select count(*) = 1 from pgsched.dependencies"))
        assert told == []
        may_end.set()
        await until_history(db, 2)
    assert told == ["import", "report"]
