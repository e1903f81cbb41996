"""Invalid rows and jobs do not delay other rows and jobs."""

from datetime import timedelta
from uuid import UUID

import pytest

from pgsched.errors import InvalidInput
from pgsched.store.admin import expired_rows
from pgsched.store.core.connect import Connection
from pgsched.store.ends import dependencies
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.jobs.definition_cache import Definitions
from tests.store.bulk.bulk_arrange import backfill
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import TARGET, call, heard, listening, refused, row, schedule, status, value
from tests.store.store_arrange import Connection as Session

pytestmark = pytest.mark.oldest_postgresql


async def test_planning_finishes_a_job_that_starts_too_late_to_ever_run(db: Session, worker: Connection) -> None:
    far = job(db, planned_revision=0, rules={"starts_at": "9999-12-31T12:00:00Z"})
    near = job(db, planned_revision=0)
    assert (await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60.0))[:2] == (2, [])
    assert value(db, "select state::text from pgsched.jobs where id = %s", [far]) == "finished"
    assert len(waiting(db, near)) == 1


async def test_an_unplannable_job_is_marked_invalid_and_other_jobs_are_planned(db: Session, worker: Connection) -> None:
    odd, fine = job(db, planned_revision=0), job(db, planned_revision=0)
    db.execute(f"alter table pgsched.executions add constraint odd check (job_id is distinct from '{odd}')".encode())
    try:
        taken, invalid, _ = await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60.0)
    finally:
        db.execute("alter table pgsched.executions drop constraint odd")
    assert (taken, [id for id, _ in invalid]) == (2, [odd])
    reason = value(db, "select reason from pgsched.jobs where state = 'invalid'")
    assert (reason.partition(": ")[0], "odd" in reason) == (InvalidInput.code, True)
    assert len(waiting(db, fine)) == 1


@pytest.mark.parametrize("name", ["paused_at", "accounted_to", "updated_at"])
def test_planning_timestamps_cannot_be_infinite(db: Session, name: str) -> None:
    job(db)
    with refused("23514", constraint=f"{name}_is_an_instant"):
        db.execute(f"update pgsched.jobs set {name} = 'infinity'".encode())


async def test_an_overlapping_run_can_cancel_hundreds_of_runs_in_one_claim(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = job(db, rules={"on_overlap": "cancel_running"})
    for n in range(450):
        planned_row(db, hourly, BEGAN - timedelta(minutes=n + 1))
    db.execute("update pgsched.executions set plan = null")
    assert len((await claim(worker, batch=500)).rows) == 450
    planned_row(db, hourly, BEGAN)
    with listening(store_url) as listener:
        [run] = (await claim(worker)).rows
        stopped = [message for message in heard(listener, db) if message.startswith("stop ")]
    assert run.nominal == BEGAN
    assert sum(message.count(",") + 1 for message in stopped) == 450


async def test_a_queued_row_made_due_by_hand_is_queued_again(db: Session, worker: Connection) -> None:
    hourly = job(db, rules={"on_overlap": "queue_one"})
    planned_row(db, hourly, BEGAN)
    await claim(worker, now=BEGAN)
    for _ in range(2):
        assert (await claim(worker, now=BEGAN + HOUR)).rows == []
        assert waiting(db, hourly) == [BEGAN + HOUR]
        db.execute("update pgsched.executions set fire_at = now() where lease_token is null")


async def test_another_clients_row_with_the_same_id_releases_no_dependent(db: Session, worker: Connection) -> None:
    first = schedule(db)
    following = call(db, "schedule", target=TARGET, after=[str(first)])
    db.execute(
        "insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt,"
        " client_id, target, awaited)"
        " values (now(), now(), now(), now(), %s, 'cancelled', 0, 0, 'stranger', 'x', true)",
        [first],
    )
    assert await dependencies.release(worker, most=10) == (1, 0, None)
    assert status(db, following) == "held"


async def test_an_unreleasable_dependent_does_not_block_other_dependents(db: Session, worker: Connection) -> None:
    odd, fine = schedule(db), schedule(db)
    twice = call(db, "schedule", target=TARGET, after=[str(odd)])
    following = call(db, "schedule", target=TARGET, after=[str(fine)], after_outcome="any")
    home = value(db, "select partition from pgsched.executions where id = %s", [twice])
    db.execute(
        "insert into pgsched.executions (id, target, fire_at, partition) values (%s, %s, 'infinity', %s)",
        [twice, TARGET, (home + 1) % 16],
    )
    for one in (odd, fine):
        call(db, "cancel", id=one)
    await dependencies.release(worker, most=10)
    assert status(db, following) == "scheduled"
    assert await dependencies.release(worker, most=10) == (0, 0, None)


async def test_an_ended_job_with_an_active_backfill_is_not_deleted(db: Session, worker: Connection) -> None:
    ended = job(db, rules={"delete_after": "1s"}, state="finished")
    backfill(db, ended, BEGAN, BEGAN + HOUR)
    db.execute("update pgsched.jobs set updated_at = now() - interval '1 hour'")
    assert await expired_rows.delete_ended_jobs(worker, most=10) == 0


def test_failures_are_counted_for_a_job_with_an_unknown_definition() -> None:
    assert Definitions().counts_failures(UUID(int=1).bytes)


@pytest.mark.parametrize("rules", ['{"pause_after": 3.0}', '{"jitter": "99999999999999999999s"}'])
def test_numbers_that_sql_and_python_parse_differently_are_refused(db: Session, rules: str) -> None:
    with refused("PS002"):
        db.execute("select pgsched.schedule('python:x', every => '1 hour', rules => cast(%s as jsonb))", [rules])


def test_an_edit_with_an_interval_out_of_range_is_refused(db: Session) -> None:
    hourly = job(db)
    with refused("PS002"):
        call(db, "edit", id=hourly, changes={"every": "99999999999999999999d"})


async def test_a_repaired_job_resumes_from_now_if_its_client_keeps_no_history(db: Session, worker: Connection) -> None:
    db.execute("update pgsched.clients set keep = 'nothing'")
    lost = job(db, accounted_to=BEGAN)
    assert (await unplanned_jobs.repair_jobs(worker)).jobs == 1
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60.0)
    db.execute("update pgsched.clients set keep = 'all'")
    assert row(db, "select scheduled_for > now() from pgsched.executions where job_id = %s", [lost]) == (True,)
