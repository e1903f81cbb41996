"""A run that ends just before the next instant is no overlap under any policy."""

import asyncio

import pytest

from pgsched.delivery.app import App
from tests.worker.conftest import Connection, Running, until, value

JOBS = """
insert into pgsched.jobs (client_id, key, target, every, anchor, rules)
select 'shop', policy, 'python:long', '2 s', date_trunc('second', now()) + interval '3 s',
       jsonb_build_object('on_overlap', policy)
  from unnest('{skip,cancel_running,queue_one,queue_all}'::text[]) policy"""
RUNS = "select count(*) >= 12 from pgsched.history where status = 'succeeded'"
OTHERS = "select count(*) from pgsched.history where status <> 'succeeded' or finished_at < scheduled_for"
LATE = "select max(finished_at - scheduled_for) < interval '2 s' from pgsched.history"


@pytest.mark.timed
async def test_runs_that_end_before_the_next_instant_do_not_count_as_overlaps(running: Running, db: Connection) -> None:
    app = App()

    @app.handler("long")
    async def last() -> None:
        await asyncio.sleep(1.75)

    async with running(app), running(app):
        await db.execute(JOBS.encode())
        await until(lambda: value(db, RUNS))
        assert await value(db, OTHERS) == 0
        assert await value(db, LATE)
