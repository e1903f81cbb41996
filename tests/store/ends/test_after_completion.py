"""Jobs with ``after_completion``: from where the interval is counted after an edit or a pause."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.jobs_arrange import HOUR, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, finish, lease, value

MINUTE = timedelta(minutes=1)


async def scheduled(db: Session, worker: Connection, every: timedelta) -> UUID:
    """Schedule a job that runs this long after the end of its last run, and plan it."""
    id = call(db, "schedule", target="python:x", every=every, key="sync", rules={"after_completion": True})
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert isinstance(id, UUID)
    return id


async def made(db: Session, worker: Connection, *, ago: timedelta = 5 * HOUR) -> UUID:
    """A job of this age that runs every two hours, and has not run."""
    id = await scheduled(db, worker, 2 * HOUR)
    db.execute("update pgsched.jobs set created_at = created_at - %s, anchor = anchor - %s", [ago, ago])
    return id


async def edited(db: Session, worker: Connection) -> UUID:
    """Change the interval to one hour."""
    return await scheduled(db, worker, HOUR)


def run(db: Session, of: UUID, *, ago: str) -> None:
    """Arrange a run of the job that ended this long ago."""
    finish(db, call(db, "trigger", job_id=of), ago=ago)


def until_next(db: Session, of: UUID) -> timedelta:
    [found] = waiting(db, of)
    now: datetime = value(db, "select pgsched.now()")
    return found - now


async def test_editing_a_job_before_its_first_run_keeps_the_original_start(db: Session, worker: Connection) -> None:
    id = await made(db, worker, ago=40 * MINUTE)
    assert await edited(db, worker) == id
    assert abs(until_next(db, id) - 20 * MINUTE) < MINUTE


async def test_an_edited_interval_counts_from_the_end_of_the_last_run(db: Session, worker: Connection) -> None:
    id = await made(db, worker)
    run(db, id, ago="50 minutes")
    run(db, id, ago="10 minutes")
    await edited(db, worker)
    assert abs(until_next(db, id) - 50 * MINUTE) < MINUTE


async def test_a_run_overdue_by_the_edited_interval_starts_immediately(db: Session, worker: Connection) -> None:
    id = await made(db, worker)
    run(db, id, ago="3 hours")
    await edited(db, worker)
    assert abs(until_next(db, id)) < MINUTE


async def test_an_interval_edited_during_a_run_counts_from_the_edit(db: Session, worker: Connection) -> None:
    id = await made(db, worker)
    run(db, id, ago="3 hours")
    lease(db, call(db, "trigger", job_id=id))
    await edited(db, worker)
    assert abs(until_next(db, id) - HOUR) < MINUTE


@pytest.mark.parametrize("keep", ["nothing", "failures"])
async def test_an_edited_interval_counts_from_the_edit_if_history_is_incomplete(
    db: Session, worker: Connection, keep: str
) -> None:
    id = await made(db, worker)
    db.execute("update pgsched.clients set keep = %s where client_id = 'default'", [keep])
    await edited(db, worker)
    db.execute("update pgsched.clients set keep = 'all' where client_id = 'default'")
    assert abs(until_next(db, id) - HOUR) < MINUTE


async def test_after_a_pause_the_interval_counts_from_the_resume(db: Session, worker: Connection) -> None:
    id = await made(db, worker)
    call(db, "pause", kind="job", name=str(id))
    call(db, "resume", kind="job", name=str(id))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert abs(until_next(db, id) - 2 * HOUR) < MINUTE
