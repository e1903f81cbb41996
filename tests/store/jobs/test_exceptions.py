"""Runs cancelled before their instant stay cancelled, however their job is changed."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.jobs import edits, unplanned_jobs
from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, refused, row, value

pytestmark = pytest.mark.oldest_postgresql


async def cancelled_ahead(db: Session, worker: Connection, **columns: Any) -> tuple[UUID, datetime]:
    """A planned hourly job whose next run is cancelled, and the instant of that run."""
    hourly = job(db, planned_revision=0, key="hourly", anchor=BEGAN, **columns)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [instant] = waiting(db, hourly)
    call(db, "cancel", id=value(db, "select id from pgsched.executions where job_id = %s", [hourly]))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [instant + HOUR]
    return hourly, instant


@pytest.mark.parametrize(
    ("changes", "later"),
    [
        ({"rules": {"jitter": "1s"}}, HOUR),
        ({"rules": {"max_runs": 5}}, HOUR),
        ({"rules": {"exclude": ["2020-12-25"]}}, HOUR),
        ({"ordering_key": "o"}, HOUR),
        ({"cron": "0 * * * *"}, HOUR),
        ({"every": "2h"}, 2 * HOUR),
        ({"payload": {"n": 2}}, HOUR),
    ],
    ids=str,
)
async def test_editing_a_job_does_not_restore_a_cancelled_instant(
    db: Session, worker: Connection, changes: dict[str, Any], later: Any
) -> None:
    hourly, instant = await cancelled_ahead(db, worker)
    if "every" in changes:
        changes = changes | {"anchor": instant.isoformat()}
    call(db, "edit", id=hourly, changes=changes)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [instant + later]


async def test_pausing_or_rescheduling_does_not_restore_a_cancelled_instant(db: Session, worker: Connection) -> None:
    hourly, instant = await cancelled_ahead(db, worker)
    call(db, "pause", kind="job", name=str(hourly))
    call(db, "resume", kind="job", name=str(hourly))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [instant + HOUR]
    call(db, "schedule", target="python:y", cron="0 * * * *", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [instant + HOUR]


async def test_a_more_frequent_schedule_skips_a_cancelled_instant(db: Session, worker: Connection) -> None:
    hourly, instant = await cancelled_ahead(db, worker)
    call(db, "edit", id=hourly, changes={"every": "30m"})
    db.execute("update pgsched.jobs set planned_revision = revision")
    planned_row(db, hourly, instant - HOUR / 2, fire_at=BEGAN)
    db.execute("update pgsched.executions set fire_at = pgsched.now() where scheduled_for = %s", [instant - HOUR / 2])
    assert len((await claim(worker)).rows) == 1
    assert waiting(db, hourly)[-1] == instant + HOUR / 2


async def test_a_cancelled_instant_is_not_counted_as_missed(db: Session, worker: Connection) -> None:
    hourly = job(db, exceptions=[BEGAN + HOUR, BEGAN + 3 * HOUR])
    planned_row(db, hourly, BEGAN)
    await claim(worker, now=BEGAN + 3.5 * HOUR)
    assert row(db, "select scheduled_for, last_scheduled_for, instants from pgsched.history") == (BEGAN, None, None)
    assert waiting(db, hourly) == [BEGAN + 2 * HOUR]


async def test_cancelling_a_due_run_adds_no_exception_to_the_job(db: Session) -> None:
    hourly = job(db)
    planned_row(db, hourly, BEGAN)
    call(db, "cancel", id=value(db, "select id from pgsched.executions"))
    assert value(db, "select exceptions from pgsched.jobs") is None


CANCELLED_IN_HAND = """
do $$
begin
  update pgsched.executions
     set fire_at = clock_timestamp() + interval '0.9 s', scheduled_for = clock_timestamp() + interval '0.9 s',
         lease_owner = 1, lease_token = 7, lease_expires_at = now() + interval '30 s', attempt = 1;
  perform {} from pgsched.executions;
end $$"""


@pytest.mark.parametrize("verb", ["pgsched.cancel(id)", "pgsched_internal.cancel_locked(executions, null, null)"])
def test_cancelling_a_claimed_run_before_its_instant_adds_an_exception(db: Session, verb: str) -> None:
    planned_row(db, job(db), BEGAN)
    db.execute(CANCELLED_IN_HAND.format(verb).encode())
    assert value(db, "select exceptions = array[h.scheduled_for] from pgsched.jobs, pgsched.history h")


async def test_planning_removes_past_exceptions(db: Session, worker: Connection) -> None:
    hourly, instant = await cancelled_ahead(db, worker, exceptions=[BEGAN])
    assert value(db, "select exceptions from pgsched.jobs where id = %s", [hourly]) == [instant]


async def test_a_job_has_at_most_a_thousand_exceptions(db: Session) -> None:
    hourly = job(db)
    db.execute(
        "update pgsched.jobs set exceptions ="
        " array(select pgsched.now() + interval '1 hour' * n from generate_series(1, 1000) n)"
    )
    planned_row(db, hourly, value(db, "select pgsched.now() + interval '30 minutes'"))
    with refused("PS011", hint="pause the job"):
        call(db, "cancel", id=value(db, "select id from pgsched.executions"))


TAKEN_OUT = """
select actor, name, before, after, detail ->> 'scheduled_for' from pgsched.audit_log
 where action = 'take out' and kind = 'job' order by id desc limit 1"""


async def test_the_audit_log_records_each_cancelled_instant(db: Session, worker: Connection) -> None:
    hourly, instant = await cancelled_ahead(db, worker)
    call(db, "cancel", id=value(db, "select id from pgsched.executions"), actor="ann")
    first, second = (value(db, "select to_jsonb(%s::timestamptz)", [at]) for at in (instant, instant + HOUR))
    before, after = {"exceptions": [first]}, {"exceptions": [first, second]}
    assert row(db, TAKEN_OUT) == ("ann", str(hourly), before, after, second)
    assert value(db, "select count(*) from pgsched.audit_log where action = 'update' and kind = 'job'") == 0


def test_an_instant_cancelled_in_bulk_is_audited_under_the_bulk_actor(db: Session) -> None:
    hourly = job(db)
    planned_row(db, hourly, value(db, "select pgsched.now() + interval '30 minutes'"))
    asked = bulk(db, "cancel", {"client": "default"}, actor="ann")
    while not advance(db, asked)[2]:
        pass
    assert row(db, TAKEN_OUT)[:2] == ("ann", str(hourly))


async def test_a_preview_omits_and_lists_cancelled_instants(
    db: Session, worker: Connection, planning: Connection
) -> None:
    hourly, instant = await cancelled_ahead(db, worker)
    found = await edits.preview_job(planning, hourly, '{"payload": 2}', start=None, count=2)
    assert found.exceptions == [instant]
    assert (
        [fire.fire_at for fire in found.before]
        == [fire.fire_at for fire in found.after]
        == [instant + HOUR, instant + 2 * HOUR]
    )
