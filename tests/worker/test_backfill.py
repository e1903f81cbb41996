"""A worker runs a backfill from start to end, beside its other work."""

import asyncio
from datetime import UTC, datetime, timedelta

from psycopg.types.json import Jsonb

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from tests.worker.conftest import Connection, Recorder, Running, until, value

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


async def test_a_backfill_of_a_paused_job_runs_each_instant_once(
    running: Running, db: Connection, recorder: Recorder
) -> None:
    app, seen, all_seen = App(), list[datetime](), asyncio.Event()

    @app.handler("report")
    async def report(context: Context) -> None:
        seen.append(context.scheduled_for)
        if len(seen) == 48:
            all_seen.set()

    cursor = await db.execute(
        "select pgsched.schedule('python:report', cron => '*/30 * * * *', key => 'report',"
        ' options => \'{"relevant_for": "PT1M"}\')'
    )
    [job] = await cursor.fetchone() or (None,)
    await db.execute("select pgsched.pause('job', %s::text)", [job])
    async with running(app), asyncio.timeout(20):
        day = {"job": str(job), "from": MARCH.isoformat(), "to": (MARCH + timedelta(days=1)).isoformat()}
        await db.execute("select pgsched.bulk('backfill', %s, rate => 200)", [Jsonb(day)])
        await all_seen.wait()
        await recorder.wait_for("bulk.finished")
    assert sorted(seen) == [MARCH + n * timedelta(minutes=30) for n in range(48)]
    found = await (await db.execute("select state, total, done, skipped from pgsched.bulk_operations")).fetchone()
    assert found == ("finished", 48, 48, 0)


async def test_a_worker_records_its_time_zone_data_version(running: Running, db: Connection) -> None:
    async with running():
        found = await until(lambda: value(db, "select value from pgsched_internal.facts where name = 'tzdata'"))
    assert found >= "2020a"
