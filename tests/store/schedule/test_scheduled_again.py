"""A job scheduled again under its key, as a deployment does each time it starts."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.jobs_arrange import HOUR
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, row, value


async def scheduled(db: Session, worker: Connection, **changed: Any) -> UUID:
    """Schedule the job, and plan it if necessary."""
    given = {"target": "python:x", "every": HOUR, "key": "sync", **changed}
    id = call(db, "schedule", **given)
    assert isinstance(id, UUID)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    return id


async def due(db: Session, worker: Connection) -> UUID:
    """Schedule a job whose row has been due for a minute and is not claimed."""
    id, long_ago = await scheduled(db, worker), HOUR + timedelta(minutes=1)
    db.execute("update pgsched.jobs set anchor = anchor - %s, updated_at = updated_at - %s", [long_ago, long_ago])
    db.execute(
        "update pgsched.executions set fire_at = fire_at - %s, scheduled_for = scheduled_for - %s", [long_ago, long_ago]
    )
    return id


def planned(db: Session, id: UUID) -> tuple[Any, ...]:
    """The id of the waiting row, how long it has been due, and its payload."""
    return row(db, "select id, pgsched.now() - scheduled_for, payload from pgsched.executions where job_id = %s", [id])


async def test_rescheduling_an_unchanged_job_keeps_its_due_row(db: Session, worker: Connection) -> None:
    id = await due(db, worker)
    before = planned(db, id)
    assert await scheduled(db, worker) == id
    assert planned(db, id)[0] == before[0]
    assert value(db, "select count(*) from pgsched.history") == 0


async def test_rescheduling_a_job_updates_its_due_rows_payload(db: Session, worker: Connection) -> None:
    id = await due(db, worker)
    await scheduled(db, worker, payload={"shop": 7})
    _, late, payload = planned(db, id)
    assert payload == {"shop": 7}
    assert late > timedelta(seconds=59)


async def test_rescheduling_a_job_with_a_new_interval_skips_its_due_row(db: Session, worker: Connection) -> None:
    id = await due(db, worker)
    await scheduled(db, worker, every=2 * HOUR)
    assert planned(db, id)[1] < timedelta(0)
    assert row(db, "select status::text, reason from pgsched.history") == ("skipped", "replaced")


async def test_rescheduling_a_job_with_a_new_clock_policy_replans_it(
    db: Session, worker: Connection, store_url: str
) -> None:
    await scheduled(db, worker, every=None, cron="30 2 * * *", timezone="Europe/Berlin")
    db.execute("update pgsched.jobs set updated_at = updated_at - interval '1 hour'")
    async with await AsyncConnection.connect(store_url) as connection, connection.transaction():
        await connection.execute(
            "select pgsched.schedule('python:x', cron => '30 2 * * *', timezone => 'Europe/Berlin', key => 'sync',"
            " gap => 'skip', overlap => 'both')"
        )
        assert (await (await connection.execute("select count(*) from pgsched.executions")).fetchone()) == (0,)
    assert (await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60))[0] == 1
    assert value(db, "select plan = revision from pgsched.executions e join pgsched.jobs j on j.id = e.job_id")
