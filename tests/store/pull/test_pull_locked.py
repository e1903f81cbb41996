"""A consumer settles executions of several clients while one of these clients keeps a transaction open."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from uuid import UUID

import psycopg
import pytest

from tests.store.pull.pull_arrange import (
    Handed,
    claim,
    claim_one,
    complete,
    end_lease,
    fail,
    pulled_queue,
    put,
    run_out,
)
from tests.store.store_arrange import Connection, call, refused, row, schedule, status, value

COMPLETE = "select pgsched.complete(x.id, x.token, '7') from unnest(%s::uuid[], %s::bigint[]) as x(id, token)"


@pytest.fixture(autouse=True)
def _orders(db: Connection) -> None:
    pulled_queue(db)
    db.execute("insert into pgsched.clients (client_id) values ('payments'), ('billing') on conflict do nothing")
    db.execute("set lock_timeout = '10s'")  # a wait for a lock fails the test


@contextmanager
def locked(url: str, query: str, *parameters: object) -> Iterator[Connection]:
    """A transaction of another session, which stays open."""
    with psycopg.connect(url) as holder:
        assert holder.execute(query.encode(), parameters).rowcount > 0
        yield holder


def row_locked(url: str, id: UUID) -> AbstractContextManager[Connection]:
    return locked(url, "select from pgsched.executions where id = %s for update", id)


def run_of_a_job(db: Connection, **rules: int) -> tuple[UUID, UUID]:
    """A job of the client payments with one counted failure, and a run of the job. Returns both ids."""
    job = schedule(
        db, every="1 hour", rules={"pause_after": 5, **rules}, client="payments", target="queue:", queue="orders"
    )
    id = put(db, client="payments")
    db.execute("update pgsched.executions set job_id = %s where id = %s", [job, id])
    db.execute("update pgsched.jobs set failures = 1 where id = %s", [job])
    return job, id


def complete_all(db: Connection, handed: list[Handed]) -> None:
    db.execute(COMPLETE, [[one.id for one in handed], [one.token for one in handed]])


def record(db: Connection) -> int:
    db.execute("update pgsched_internal.results_to_record set try_at = noted_at")
    return int(value(db, "select pgsched_internal.record_results(100)"))


def test_completing_a_batch_does_not_wait_for_a_locked_job(db: Connection, store_url: str) -> None:
    job, id = run_of_a_job(db)
    other = put(db, client="billing")
    handed = claim(db)
    with locked(store_url, "select pgsched.pause('job', %s::text)", job):
        complete_all(db, handed)
        assert (status(db, id), status(db, other)) == ("running", "succeeded")
        assert record(db) == 0
    assert record(db) == 1
    assert row(db, "select status::text, result, attempt from pgsched.history where id = %s", [id]) == (
        "succeeded",
        7,
        1,
    )
    assert value(db, "select failures from pgsched.jobs where id = %s", [job]) == 0


def test_completing_a_batch_does_not_wait_for_a_locked_row(db: Connection, store_url: str) -> None:
    id, other = put(db, client="payments"), put(db, client="billing")
    handed = claim(db)
    with row_locked(store_url, id):
        complete_all(db, handed)
        assert (status(db, id), status(db, other)) == ("running", "succeeded")
    assert record(db) == 1
    assert status(db, id) == "succeeded"


def test_completing_a_batch_waits_once_for_a_clients_locked_rows(db: Connection, store_url: str) -> None:
    ids = [put(db, client="payments") for _ in range(100)]
    handed = claim(db, 100)
    db.execute("set lock_timeout = 0; set statement_timeout = '4s'")  # a moment for each row would be five seconds
    with locked(store_url, "select from pgsched.executions where id = any (%s) for update", ids):
        complete_all(db, handed)
    assert record(db) == 100


def test_a_failure_is_recorded_after_the_job_is_unlocked(db: Connection, store_url: str) -> None:
    job, id = run_of_a_job(db)
    handed = claim_one(db)
    with locked(store_url, "select from pgsched.jobs where id = %s for update", job):
        assert fail(db, handed, retryable=False) == "failed"
        assert status(db, id) == "running"
    assert record(db) == 1
    assert row(db, "select status::text, reason from pgsched.history where id = %s", [id]) == ("failed", "no paper")
    assert value(db, "select failures from pgsched.jobs where id = %s", [job]) == 2


def test_a_retryable_failure_does_not_wait_for_a_locked_row(db: Connection, store_url: str) -> None:
    id = put(db, options={"max_attempts": 2})
    handed = claim_one(db)
    with row_locked(store_url, id):
        assert fail(db, handed) == "retrying"
    assert record(db) == 1
    assert status(db, id) == "retrying"
    assert value(db, "select error from pgsched.attempts where execution_id = %s", [id]) == "no paper"


def test_a_failure_that_blocks_its_ordering_key_does_not_wait_for_a_resume(db: Connection, store_url: str) -> None:
    id = put(db, client="payments", ordering_key="o", options={"ordering": "block"})
    handed = claim_one(db)
    db.execute(
        "insert into pgsched.blocked_keys (client_id, ordering_key, partition, execution_id, reason)"
        " select 'payments', 'o', partition, id, 'before' from pgsched.executions"
    )
    with locked(store_url, "select pgsched.resume('ordering_key', 'o', client => 'payments')"):
        assert fail(db, handed, retryable=False) == "failed"
        assert status(db, id) == "running"
    assert record(db) == 1
    assert status(db, id) == "failed"


def test_releasing_a_claim_does_not_wait_for_a_locked_row(db: Connection, store_url: str) -> None:
    id = put(db)
    handed = claim_one(db)
    with row_locked(store_url, id):
        call(db, "release", id=handed.id, token=handed.token)
    assert record(db) == 1
    assert row(db, "select status::text, attempt from pgsched.status where id = %s", [id]) == ("scheduled", 0)


def test_extending_a_locked_rows_lease_returns_the_unchanged_expiry(db: Connection, store_url: str) -> None:
    id = put(db)
    handed = claim_one(db)
    with row_locked(store_url, id):
        assert call(db, "extend", id=handed.id, token=handed.token, lease="1 hour") == handed.lease_expires_at
    assert call(db, "extend", id=handed.id, token=handed.token, lease="1 hour") > handed.lease_expires_at


def test_a_second_result_for_a_locked_row_is_refused(db: Connection, store_url: str) -> None:
    handed = claim_one(db) if put(db) else None
    assert handed is not None
    with row_locked(store_url, handed.id):
        complete(db, handed)
        with refused("PS013"):
            fail(db, handed)


def test_a_completed_but_locked_execution_cannot_be_released(db: Connection, store_url: str) -> None:
    id = put(db)
    handed = claim_one(db)
    with row_locked(store_url, id):
        complete(db, handed)
    with refused("PS013"):
        call(db, "release", id=id, token=handed.token)
    assert record(db) == 1
    assert status(db, id) == "succeeded"


def test_releasing_a_claim_does_not_wait_for_an_ordering_keys_resume(db: Connection, store_url: str) -> None:
    put(db, client="payments", ordering_key="o")
    handed = claim_one(db)
    call(db, "cancel", id=handed.id)
    with locked(store_url, "select pgsched.resume('ordering_key', 'o', client => 'payments')"), refused("PS013"):
        call(db, "release", id=handed.id, token=handed.token)


def test_a_pending_result_is_dropped_if_a_new_lease_has_begun(db: Connection, store_url: str) -> None:
    id = put(db)
    late = claim_one(db)
    with row_locked(store_url, id):
        complete(db, late)
    db.execute("update pgsched.executions set lease_token = lease_token # (1 << 20) where id = %s", [id])
    assert record(db) == 1
    assert status(db, id) == "running"


def test_a_result_given_before_the_lease_expires_is_recorded_later(db: Connection, store_url: str) -> None:
    id = put(db, options={"max_attempts": 1})
    handed = claim_one(db)
    with row_locked(store_url, id):
        complete(db, handed)
    run_out(db, handed)
    assert claim(db) == []
    assert status(db, id) == "succeeded"
    assert record(db) == 1


def test_reaping_skips_a_lost_run_of_a_locked_job(db: Connection, store_url: str) -> None:
    job, id = run_of_a_job(db)
    db.execute("update pgsched.executions set options = '{\"max_attempts\": 1}' where id = %s", [id])
    end_lease(db, claim_one(db))
    home = value(db, "select partition from pgsched.executions where id = %s", [id])
    reap = "select pgsched_internal.reap_in_hand(%s::smallint, 10, '2200-01-01Z')"
    with locked(store_url, "select from pgsched.jobs where id = %s for update", job):
        assert value(db, reap, [home]) == 0
    assert value(db, reap, [home]) == 1
    assert status(db, id) == "failed"


def test_an_execution_whose_result_cannot_be_recorded_is_held(db: Connection, store_url: str) -> None:
    id, other = put(db), put(db)
    one, two = claim(db)
    with row_locked(store_url, id), row_locked(store_url, other):
        complete(db, one)
        complete(db, two)
    db.execute(f"alter table pgsched.history add constraint odd check (id <> '{id}') not valid".encode())
    try:
        assert record(db) == 2
    finally:
        db.execute("alter table pgsched.history drop constraint odd")
    assert status(db, other) == "succeeded"
    assert row(db, "select status::text, held_by from pgsched.status where id = %s", [id]) == ("held", "error")


def test_a_lock_on_the_jobs_table_does_not_delay_one_shot_executions(db: Connection, store_url: str) -> None:
    plain, failing = put(db), put(db)
    handed = {one.id: one for one in claim(db)}
    with psycopg.connect(store_url) as holder:
        holder.execute("lock table pgsched.jobs")
        db.execute("set lock_timeout = '1s'")
        complete(db, handed[plain])
        assert fail(db, handed[failing], retryable=False) == "failed"
        holder.rollback()
    assert (status(db, plain), status(db, failing)) == ("succeeded", "failed")


def test_a_runs_result_is_recorded_after_the_jobs_table_is_unlocked(db: Connection, store_url: str) -> None:
    _, id = run_of_a_job(db)
    handed = claim_one(db)
    with psycopg.connect(store_url) as holder:
        holder.execute("lock table pgsched.jobs")
        db.execute("set lock_timeout = '1s'")
        complete(db, handed)
        holder.rollback()
    assert record(db) == 1
    assert status(db, id) == "succeeded"
