"""An execution that cannot be claimed does not affect the claim's other rows, and its status gives the reason."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from pgsched.store.core.culprits import is_a_lock, is_of_a_row
from tests.store.pull.pull_arrange import claim, claim_one, end_lease, pulled_queue, put, put_many, run_out
from tests.store.store_arrange import Connection, call, column, row, schedule, status, value


@pytest.fixture(autouse=True)
def _orders(db: Connection) -> None:
    pulled_queue(db)


@contextmanager
def refusing(db: Connection, condition: str, table: str = "pgsched.executions") -> Iterator[None]:
    """Make the database refuse rows for which the condition does not hold."""
    db.execute(f"alter table {table} add constraint odd check ({condition}) not valid".encode())
    try:
        yield
    finally:
        db.execute(f"alter table {table} drop constraint odd".encode())


def test_an_execution_that_cannot_be_leased_is_held_with_the_reason(db: Connection) -> None:
    odd = [put(db, payload={"odd": True}) for _ in range(2)]
    put_many(db, 40)
    with refusing(db, "payload is distinct from '{\"odd\": true}' or lease_token is null"):
        assert len(claim(db, 100)) == 40
    for id in odd:
        found = row(db, "select status::text, held_by, attempt from pgsched.status where id = %s", [id])
        assert found == ("held", "error", 0)
        assert "odd" in value(db, "select reason from pgsched.status where id = %s", [id])


def test_a_held_execution_can_be_claimed_after_a_reschedule(db: Connection) -> None:
    id = put(db, payload={"odd": True})
    with refusing(db, "payload is distinct from '{\"odd\": true}' or lease_token is null"):
        assert claim(db) == []
    call(db, "edit", id=id, changes={"fire_at": "2020-01-01T00:00:00Z"})
    assert claim_one(db).id == id


def test_an_execution_that_can_neither_be_leased_nor_held_fails(db: Connection) -> None:
    odd = put(db, payload={"odd": True})
    put_many(db, 5)
    with refusing(db, "payload is distinct from '{\"odd\": true}' or lease_token is null and isfinite(fire_at)"):
        assert len(claim(db, 100)) == 5
    assert status(db, odd) == "failed"
    assert "odd" in value(db, "select reason from pgsched.history where id = %s", [odd])


def test_an_execution_that_can_neither_be_held_nor_ended_is_skipped(db: Connection) -> None:
    odd = put(db, payload={"odd": True})
    put_many(db, 5)
    with (
        refusing(db, "payload is distinct from '{\"odd\": true}' or lease_token is null and isfinite(fire_at)"),
        refusing(db, f"id <> '{odd}'", "pgsched.history"),
    ):
        assert len(claim(db, 100)) == 5
        put_many(db, 5)
        assert len(claim(db, 100)) == 5
    assert status(db, odd) == "scheduled"


def test_an_execution_whose_expiry_cannot_be_recorded_is_held(db: Connection) -> None:
    odd = put(db, options={"relevant_for": "1s"}, fire_at="2020-01-01Z")
    put_many(db, 5)
    with refusing(db, f"id <> '{odd}'", "pgsched.history"):
        assert len(claim(db, 100)) == 5
    assert row(db, "select status::text, held_by from pgsched.status where id = %s", [odd]) == ("held", "error")


def test_an_execution_whose_lost_lease_cannot_be_recorded_is_held(db: Connection) -> None:
    odd = put(db, options={"max_attempts": 1})
    run_out(db, claim_one(db))
    put_many(db, 5)
    with refusing(db, f"id <> '{odd}'", "pgsched.history"):
        assert len(claim(db, 100)) == 5
    assert row(db, "select status::text, held_by from pgsched.status where id = %s", [odd]) == ("held", "error")


def test_a_claim_skips_but_does_not_hold_a_locked_jobs_lost_run(db: Connection, store_url: str) -> None:
    job = schedule(db, every="1 hour", rules={"pause_after": 5}, target="queue:", queue="orders")
    id = put(db, options={"max_attempts": 1})
    run_out(db, claim_one(db))
    db.execute("update pgsched.executions set job_id = %s where id = %s", [job, id])
    put_many(db, 5)
    with psycopg.connect(store_url) as holder:
        holder.execute("select from pgsched.jobs for update")
        assert len(claim(db, 100)) == 5
        assert status(db, id) == "running"
    assert claim(db) == []
    assert status(db, id) == "failed"


def test_an_error_that_no_row_causes_fails_the_claim_and_holds_no_row(db: Connection) -> None:
    put_many(db, 5)
    db.execute("revoke update on pgsched.executions from pgsched_owner")
    tables = column(
        db, "select inhrelid::regclass::text from pg_inherits where inhparent = 'pgsched.executions'::regclass"
    )
    for table in tables:
        db.execute(sql.SQL("revoke update on {} from pgsched_owner").format(sql.Identifier(*table.split("."))))
    try:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            claim(db)
    finally:
        for table in [*tables, "pgsched.executions"]:
            db.execute(sql.SQL("grant update on {} to pgsched_owner").format(sql.Identifier(*table.split("."))))
    assert len(claim(db)) == 5


def test_reaping_continues_past_an_execution_that_cannot_end(db: Connection) -> None:
    ids = [put(db, options={"max_attempts": 1}, ordering_key=None, key=None) for _ in range(3)]
    db.execute("update pgsched.executions set partition = (select min(partition) from pgsched.executions)")
    for handed in claim(db, 10):
        end_lease(db, handed)
    home = value(db, "select min(partition) from pgsched.executions")
    with refusing(db, f"id <> '{ids[1]}'", "pgsched.history"):
        call(db, "pgsched_internal.reap_in_hand", partition=home, most=10, ended_by="2200-01-01Z")
    assert [status(db, id) for id in ids] == ["failed", "held", "failed"]


STATES = [
    "22003", "23514", "23505", "54000", "P0001", "PS001", "PS014", "XX001", "38000", "2F003", "55P03", "40001", "40P01",
    "42501", "42P01", "53100", "53200", "57P01", "58030", "08006", "25006", "0A000",
]  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_workers_and_the_database_agree_on_errors_caused_by_a_row(db: Connection, state: str) -> None:
    error = psycopg.errors.lookup(state)() if state[:2] != "PS" else _own(state)
    assert value(db, "select pgsched_internal.is_of_a_row(%s)", [state]) is is_of_a_row(error)
    assert value(db, "select pgsched_internal.is_a_lock(%s)", [state]) is is_a_lock(error)


def _own(state: str) -> psycopg.Error:
    class Own(psycopg.DatabaseError):
        sqlstate = state

    return Own()
