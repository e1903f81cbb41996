"""Jobs that are paused after consecutive failures."""

from uuid import UUID

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live import executions
from pgsched.store.live.executions import Finished, Times
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, reap, row, run_out, value

pytestmark = pytest.mark.oldest_postgresql


async def runs(db: Session, worker: Connection, *ends: str) -> None:
    """Claim the job's next runs and end each as given."""
    for ended in ends:
        [due] = (await claim(worker)).rows
        end = Finished(due.id, due.token, ended, None, None, "because", Times(LONG_AGO, 1.0))
        await executions.settle_finished(worker, due.partition, [end])


def planned(db: Session, **rules: object) -> UUID:
    hourly = job(db, rules=rules or None)
    planned_row(db, hourly, BEGAN)
    return hourly


def state(db: Session) -> tuple[str, str | None, int]:
    state, reason, failures = row(db, "select state::text, reason, failures from pgsched.jobs")
    return state, reason, failures


async def test_a_job_with_pause_after_is_paused_after_consecutive_failures(db: Session, worker: Connection) -> None:
    hourly = planned(db, pause_after=3)
    await runs(db, worker, "failed", "failed")
    assert state(db) == ("active", None, 2)
    await runs(db, worker, "failed")
    assert state(db) == ("paused", "failed 3 times in a row", 0)
    assert waiting(db, hourly) == []
    assert row(db, "select actor, action from pgsched.audit_log where action <> 'insert'") == ("pgsched", "pause")


async def test_a_success_resets_the_failure_count(db: Session, worker: Connection) -> None:
    planned(db, pause_after=2)
    await runs(db, worker, "failed", "succeeded", "failed")
    assert state(db) == ("active", None, 1)


async def test_an_expired_run_leaves_the_failure_count_unchanged(db: Session, worker: Connection) -> None:
    planned(db, pause_after=2)
    await runs(db, worker, "failed", "expired", "failed")
    assert state(db)[0] == "paused"


async def test_failures_of_a_job_without_pause_after_are_not_counted(db: Session, worker: Connection) -> None:
    planned(db)
    await runs(db, worker, *["failed"] * 5)
    assert state(db) == ("active", None, 0)


async def test_a_run_failed_by_the_reaper_counts_as_a_failure(db: Session, worker: Connection) -> None:
    planned(db, pause_after=1)
    [due] = (await claim(worker)).rows
    db.execute("update pgsched.executions set attempt = 1000 where lease_token is not null")
    run_out(db)
    await reap(worker, due.partition, [1])
    assert state(db) == ("paused", "failed", 0)


async def test_a_failed_backfilled_run_does_not_count_as_a_failure_of_the_job(db: Session, worker: Connection) -> None:
    hourly = job(db, rules={"pause_after": 1})
    planned_row(db, hourly, BEGAN - HOUR, revision=0)
    await runs(db, worker, "failed")
    assert state(db) == ("active", None, 0)


@pytest.mark.parametrize(("rules", "counts"), [({"pause_after": 2}, True), ({"max_runs": 2}, False)])
async def test_a_claimed_jobs_failures_count_only_if_pause_after_is_set(
    db: Session, worker: Connection, rules: dict[str, object], counts: bool
) -> None:
    hourly = planned(db, **rules)
    definitions = Definitions()
    await claim(worker, definitions=definitions)
    assert definitions.counts_failures(hourly.bytes) is counts


async def test_resuming_a_job_resets_the_failure_count(db: Session, worker: Connection) -> None:
    hourly = planned(db, pause_after=1)
    await runs(db, worker, "failed")
    call(db, "resume", kind="job", name=str(hourly))
    assert state(db) == ("active", None, 0)
    assert value(db, "select paused_at is not null from pgsched.jobs")
