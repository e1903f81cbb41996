"""The rule ``after``: runs that wait for the run of another job on the same day."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Connection
from pgsched.store.ends import dependencies
from pgsched.store.live.executions import Claimed
from tests.store.jobs.jobs_arrange import claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, column, finish, refused, value

DAY = timedelta(days=1)
MADE = datetime(2025, 1, 1, tzinfo=UTC)
AT = datetime(2025, 3, 4, 2, 0, tzinfo=UTC)  # a Tuesday; the import runs an hour later on the same day
IMPORT_AT = AT + timedelta(hours=1)


def imports(db: Session, cron: str = "0 3 * * *", **columns: object) -> UUID:
    return job(db, key="import", cron=cron, created_at=MADE, **columns)


def reports(db: Session, **rule: object) -> UUID:
    """A daily job that waits for the import, with its row of that Tuesday."""
    report = job(db, key="report", cron="0 2 * * *", rules={"after": {"job": "import", **rule}})
    planned_row(db, report, AT)
    return report


async def claimed(worker: Connection) -> list[UUID]:
    """Claim, and return the jobs of the claimed runs."""
    answer: Claimed = await claim(worker)
    return [UUID(bytes=row.job_id) for row in answer.rows if row.job_id]


async def released(worker: Connection) -> None:
    """Release dependents, and sweep for missing predecessors."""
    await dependencies.release(worker, most=100)
    await internal_verbs.release_abandoned(worker, most=100, after=None)


def run_of(db: Session, id: UUID) -> UUID:
    found = value(db, "select id from pgsched.executions where job_id = %s order by scheduled_for limit 1", [id])
    assert isinstance(found, UUID)
    return found


def skipped(db: Session, id: UUID) -> list[str]:
    return column(db, "select reason from pgsched.history where job_id = %s and status = 'skipped'", [id])


async def test_a_run_waits_until_that_days_predecessor_run_has_ended(db: Session, worker: Connection) -> None:
    first, report = imports(db), reports(db)
    planned_row(db, first, IMPORT_AT)
    assert await claimed(worker) == [first]
    assert waiting(db, report) == [AT]
    await released(worker)
    assert await claimed(worker) == []
    finish(db, run_of(db, first))
    await released(worker)
    assert report in await claimed(worker)
    assert waiting(db, report) == [AT + DAY]


async def test_a_run_starts_immediately_if_its_predecessor_succeeded_that_day(db: Session, worker: Connection) -> None:
    first, report = imports(db, cron="0 1 * * *"), reports(db)
    planned_row(db, first, AT - timedelta(hours=1))
    finish(db, run_of(db, first))
    assert await claimed(worker) == [report]


@pytest.mark.parametrize(("rule", "runs"), [({}, False), ({"on_failure": "run"}, True)])
async def test_the_after_rule_decides_whether_a_run_follows_a_failed_run(
    db: Session, worker: Connection, rule: dict[str, str], runs: bool
) -> None:
    first, report = imports(db), reports(db, **rule)
    planned_row(db, first, IMPORT_AT)
    finish(db, run_of(db, first), ended="failed")
    assert await claimed(worker) == [report] * runs
    assert skipped(db, report) == ["after import: the run of 2025-03-04T03:00:00Z ended with status failed"] * (
        not runs
    )
    assert waiting(db, report) == [AT + DAY]


async def test_an_after_rule_can_wait_until_the_predecessor_succeeds_that_day(db: Session, worker: Connection) -> None:
    first, report = imports(db), reports(db, on_failure="wait")
    planned_row(db, first, IMPORT_AT)
    finish(db, run_of(db, first), ended="failed")
    assert await claimed(worker) == []
    reason = "waits after import: the run of 2025-03-04T03:00:00Z ended with status failed"
    assert value(db, "select reason from pgsched.executions where job_id = %s", [report]) == reason
    again = call(db, "trigger", job_id=first)
    db.execute("update pgsched.executions set scheduled_for = %s where id = %s", [IMPORT_AT + DAY / 24, again])
    finish(db, again)
    db.execute("update pgsched.executions set fire_at = now() where job_id = %s", [report])
    assert await claimed(worker) == [report]


@pytest.mark.parametrize(("rule", "runs"), [({}, True), ({"on_none": "skip"}, False)])
async def test_an_after_rule_says_whether_to_run_if_no_predecessor_run_exists(
    db: Session, worker: Connection, rule: dict[str, str], runs: bool
) -> None:
    first, report = imports(db, cron="0 3 * * SAT"), reports(db, **rule)
    planned_row(db, first, datetime(2999, 3, 9, 3, 0, tzinfo=UTC))
    assert await claimed(worker) == [report] * runs
    assert skipped(db, report) == ["after import: the job has no run within the same day"] * (not runs)


@pytest.mark.parametrize(("state", "why"), [("paused", "the job is paused"), ("cancelled", "there is no such job")])
async def test_a_paused_or_cancelled_predecessor_job_counts_as_failed(
    db: Session, worker: Connection, state: str, why: str
) -> None:
    imports(db, state=state)
    report = reports(db)
    assert await claimed(worker) == []
    assert skipped(db, report) == [f"after import: {why}"]


async def test_a_run_waits_for_a_predecessor_run_that_has_no_row_yet(db: Session, worker: Connection) -> None:
    first, report = imports(db), reports(db)
    planned_row(db, first, IMPORT_AT - DAY)  # the import is a day behind
    late = run_of(db, first)
    assert await claimed(worker) == [first]
    assert value(db, "select after_id from pgsched.dependencies") in (late, run_of(db, first))
    finish(db, late)
    await released(worker)
    assert report not in await claimed(worker)
    finish(
        db, value(db, "select id from pgsched.executions where job_id = %s and scheduled_for = %s", [first, IMPORT_AT])
    )
    await released(worker)
    assert report in await claimed(worker)


async def test_a_run_is_postponed_while_the_predecessor_job_is_unplanned(db: Session, worker: Connection) -> None:
    imports(db, planned_revision=0)
    report = reports(db)
    assert await claimed(worker) == []
    reason = value(db, "select reason from pgsched.executions where job_id = %s", [report])
    assert reason == "waits: job import is about to be planned"


async def test_a_waiting_run_is_skipped_if_the_predecessor_job_is_paused(db: Session, worker: Connection) -> None:
    first, report = imports(db), reports(db)
    planned_row(db, first, IMPORT_AT)
    db.execute("update pgsched.executions set fire_at = now() + interval '1 hour' where job_id = %s", [first])
    assert await claimed(worker) == []
    await released(worker)
    call(db, "pause", kind="job", name=str(first))
    await released(worker)
    assert await claimed(worker) == []
    assert skipped(db, report) == ["after import: the job is paused"]


async def test_a_predecessors_success_counts_even_if_not_kept_in_history(db: Session, worker: Connection) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('frugal', 'failures')")
    first, report = imports(db, client_id="frugal"), reports(db)
    db.execute("update pgsched.jobs set client_id = 'frugal' where id = %s", [report])
    planned_row(db, first, datetime.now(UTC) + DAY)
    assert await claimed(worker) == [report]


@pytest.mark.parametrize("chain", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_an_after_rule_that_closes_a_cycle_is_refused(db: Session, chain: Sequence[str]) -> None:
    def put(key: str, before: str) -> None:
        call(db, "schedule", target="python:x", every="1 day", key=key, rules=f'{{"after": {{"job": "{before}"}}}}')

    for key, before in pairwise(chain):
        put(key, before)
    with refused("PS011"):
        put(chain[-1], chain[0])


@pytest.mark.parametrize(
    "rule",
    [
        '"import"',
        "{}",
        '{"job": 5}',
        '{"job": "a", "same": "year"}',
        '{"job": "a", "on_none": "wait"}',
        '{"job": "a", "x": 1}',
    ],
)
def test_an_invalid_after_rule_is_refused(db: Session, rule: str) -> None:
    with refused("PS002"):
        call(db, "schedule", target="python:x", every="1 day", rules=f'{{"after": {rule}}}')


def test_an_after_rule_combined_with_after_completion_is_refused(db: Session) -> None:
    with refused("PS002"):
        call(
            db, "schedule", target="python:x", every="1 day", rules='{"after": {"job": "a"}, "after_completion": true}'
        )
