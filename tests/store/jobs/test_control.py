"""cancel, reschedule, pause and resume: what each changes, returns and refuses."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from tests.store.store_arrange import (
    Connection,
    call,
    column,
    counts,
    finish,
    lease,
    on_job,
    planned,
    refused,
    row,
    schedule,
    status,
    value,
)

UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")


def test_cancel_moves_a_waiting_execution_to_history(db: Connection) -> None:
    id = schedule(db, payload={"n": 1}, key="k", ordering_key="o")
    assert call(db, "cancel", id=id) is True
    assert row(
        db,
        "select status::text, reason, payload, key, ordering_key, finished_at = created_at or finished_at > created_at"
        " from pgsched.status where id = %s",
        [id],
    ) == ("cancelled", "cancelled", {"n": 1}, "k", "o", True)
    assert counts(db) == (0, 0, 1)


def test_a_rolled_back_cancel_changes_nothing(db: Connection) -> None:
    id = schedule(db)
    with db.transaction(force_rollback=True):
        call(db, "cancel", id=id)
    assert status(db, id) == "scheduled"


def test_cancelling_an_execution_twice_returns_false(db: Connection) -> None:
    id = schedule(db)
    assert call(db, "cancel", id=id) is True
    assert call(db, "cancel", id=id) is False


def test_cancelling_an_ended_execution_changes_nothing(db: Connection) -> None:
    id = schedule(db)
    finish(db, id)
    assert call(db, "cancel", id=id) is False
    assert status(db, id) == "succeeded"


def test_a_running_execution_can_be_cancelled_once(db: Connection) -> None:
    id = schedule(db)
    lease(db, id)
    assert call(db, "cancel", id=id, note="paid") is True
    assert status(db, id) == "cancelled"
    assert call(db, "cancel", id=id) is False


def test_cancel_returns_false_if_the_execution_ends_concurrently(db: Connection, store_url: str) -> None:
    id = schedule(db)
    lease(db, id)
    with psycopg.connect(store_url) as settling, ThreadPoolExecutor(1) as thread:
        settling.execute("delete from pgsched.executions where id = %s", [id])
        cancelling = thread.submit(call, db, "cancel", id=id)
        with psycopg.connect(store_url, autocommit=True) as watcher:
            while not value(watcher, "select count(*) from pg_locks where not granted"):
                pass
        settling.commit()
        assert cancelling.result() is False


def test_an_execution_can_be_cancelled_by_key(db: Connection) -> None:
    id = schedule(db, client="payments", key="settle-42")
    assert call(db, "cancel", client="payments", key="settle-42") is True
    assert status(db, id) == "cancelled"
    assert call(db, "cancel", client="payments", key="settle-42") is False


def test_a_job_can_be_cancelled_by_key(db: Connection) -> None:
    schedule(db, client="payments", key="nightly", cron="@daily")
    assert call(db, "cancel", client="payments", key="nightly") is True
    assert call(db, "cancel", client="payments", key="nightly") is False
    assert value(db, "select state::text from pgsched.jobs") == "cancelled"


def test_cancelling_by_another_clients_key_is_refused(db: Connection) -> None:
    schedule(db, client="payments", key="settle-42")
    with refused("PS010", hint="pgsched.status"):
        call(db, "cancel", client="billing", key="settle-42")


def test_cancelling_a_job_deletes_its_planned_row(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    assert call(db, "cancel", id=job) is True
    assert counts(db) == (0, 1, 0)
    assert call(db, "cancel", id=job) is False


def test_cancelling_a_job_moves_its_due_row_to_history(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    call(db, "cancel", id=job)
    assert row(db, "select status::text, reason, job_id from pgsched.status where id = %s", [id]) == (
        "skipped",
        "job cancelled",
        job,
    )


def test_cancelling_a_job_does_not_cancel_its_running_execution(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    lease(db, id)
    call(db, "cancel", id=job)
    assert status(db, id) == "running"


def test_cancelling_a_job_does_not_wait_for_a_locked_row(db: Connection, store_url: str) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    with psycopg.connect(store_url) as claimer:
        claimer.execute("select from pgsched.executions where id = %s for update", [id])
        db.execute("set lock_timeout = '5s'")
        assert call(db, "cancel", id=job) is True
    assert status(db, id) == "scheduled"


def test_rescheduling_changes_a_waiting_executions_fire_at(db: Connection) -> None:
    id = schedule(db, key="k")
    call(db, "edit", id=id, changes={"fire_at": "2040-01-01T00:00:00Z"})
    assert row(
        db,
        "select fire_at = '2040-01-01Z', scheduled_for = '2040-01-01Z', status::text from pgsched.status where id = %s",
        [id],
    ) == (True, True, "scheduled")


def test_pausing_a_job_deletes_its_planned_row_and_records_the_note(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    assert call(db, "pause", kind="job", name=str(job), note="the shop is closed") is True
    assert row(db, "select state::text, reason, revision from pgsched.jobs") == ("paused", "the shop is closed", 2)
    assert counts(db) == (0, 1, 0)


def test_pausing_a_job_records_when_the_pause_began(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    call(db, "pause", kind="job", name=str(job))
    assert value(db, "select paused_at = updated_at from pgsched.jobs") is True


def test_pausing_a_resumed_job_before_planning_keeps_the_first_paused_at(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    call(db, "pause", kind="job", name=str(job))
    began = value(db, "select paused_at from pgsched.jobs")
    call(db, "resume", kind="job", name=str(job))
    call(db, "pause", kind="job", name=str(job))
    assert value(db, "select paused_at from pgsched.jobs") == began


def test_a_note_becomes_the_reason_of_a_cancelled_execution(db: Connection) -> None:
    id = schedule(db)
    call(db, "cancel", id=id, note="ordered twice")
    assert value(db, "select reason from pgsched.status where id = %s", [id]) == "ordered twice"


def test_a_note_becomes_the_reason_of_a_cancelled_job(db: Connection) -> None:
    call(db, "cancel", id=schedule(db, every="1 hour"), note="closed for good")
    assert value(db, "select reason from pgsched.jobs") == "closed for good"


def test_pausing_a_job_skips_its_due_row(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = planned(db, job, ahead="-1 second")
    call(db, "pause", kind="job", name=str(job))
    assert row(db, "select status::text, reason from pgsched.status where id = %s", [id]) == ("skipped", "paused")


def test_pausing_a_job_keeps_retries_and_triggered_rows(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    retried = planned(db, job)
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [retried])
    triggered = call(db, "trigger", job_id=job)
    call(db, "pause", kind="job", name=str(job))
    assert set(column(db, "select id from pgsched.executions")) == {retried, triggered}


def test_pausing_a_paused_job_returns_false(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    assert call(db, "pause", kind="job", name=str(job)) is True
    assert call(db, "pause", kind="job", name=str(job)) is False


def test_resuming_a_job_makes_it_active_and_unplanned(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    planned(db, job)
    call(db, "pause", kind="job", name=str(job), note="closed")
    assert call(db, "resume", kind="job", name=str(job)) is True
    assert row(db, "select state::text, reason, planned_revision < revision from pgsched.jobs") == (
        "active",
        None,
        True,
    )


def test_resuming_an_active_job_changes_nothing(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    assert call(db, "resume", kind="job", name=str(job)) is False
    assert value(db, "select revision from pgsched.jobs") == 1


@pytest.mark.parametrize(
    ("function", "hint", "state"),
    [
        *(("pause", "only an active job", state) for state in ("cancelled", "invalid", "finished")),
        *(("resume", "only a paused or invalid job", state) for state in ("cancelled", "finished")),
    ],
)
def test_pausing_or_resuming_a_job_in_an_unsuitable_state_is_refused(
    db: Connection, function: str, hint: str, state: str
) -> None:
    job = schedule(db, every="1 hour")
    db.execute("update pgsched.jobs set state = %s::pgsched.job_state", [state])
    with refused("PS011", hint=hint):
        call(db, function, **on_job(function, job))


def test_resuming_an_invalid_job_deletes_its_parked_row(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    parked = planned(db, job)
    park = "update pgsched.executions set fire_at = 'infinity', gate = 'error', reason = 'no' where id = %s"
    db.execute(park, [parked])
    db.execute("update pgsched.jobs set state = 'invalid', reason = 'no'")
    assert call(db, "resume", kind="job", name=str(job)) is True
    assert row(db, "select state::text, reason, planned_revision < revision from pgsched.jobs") == (
        "active",
        None,
        True,
    )
    assert counts(db)[0] == 0


@pytest.mark.parametrize("function", ["trigger", "pause", "resume"])
def test_an_execution_id_is_refused_where_a_job_id_is_expected(db: Connection, function: str) -> None:
    with refused("PS010", hint="pgsched.jobs"):
        call(db, function, **on_job(function, schedule(db)))
