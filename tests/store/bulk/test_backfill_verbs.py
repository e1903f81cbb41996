"""Starting and stopping backfills: what is refused, what is logged, and who may do it."""

from uuid import UUID, uuid4

import pytest

from tests.store.bulk.bulk_arrange import backfill, bulk
from tests.store.store_arrange import Connection, call, column, heard, lease, listening, refused, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

RANGE = {"from": "2026-03-01T00:00Z", "to": "2026-03-02T00:00Z"}


@pytest.fixture
def job(db: Connection) -> UUID:
    return schedule(db, every="1 hour")


def waiting_row(db: Connection, job: UUID, at: str, *, plan: int = 0) -> UUID:
    """Insert a row of the job for this instant, as a backfill does, or with ``plan`` as the planner does."""
    id = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select %s, %s, j.id, %s, pgsched_internal.partition_of(j), j.client_id, j.target from pgsched.jobs"
        " j where j.id = %s"
        " returning id",
        [at, at, plan, job],
    )
    assert isinstance(id, UUID)
    return id


def test_a_backfill_starts_active_and_notifies_workers(db: Connection, store_url: str, job: UUID) -> None:
    with listening(store_url) as listener:
        id = backfill(db, job, rate=2.5)
        assert "bulk" in heard(listener, db)
    found = row(db, "select filter, clients, state, rate, total, done from pgsched.bulk_operations where id = %s", [id])
    assert found == ({"job": str(job)} | RANGE, ["default"], "active", 2.5, None, 0)


def test_starting_and_stopping_a_backfill_are_logged(db: Connection, job: UUID) -> None:
    id = backfill(db, job, actor="api 10.0.0.7")
    call(db, "stop_bulk", id=id, actor="somebody")
    logged = "select actor, action, subject, name from pgsched.audit_log where kind = 'bulk operation' order by id"
    started, stopped = db.execute(logged).fetchall()
    assert started == ("api 10.0.0.7", "bulk backfill", job, str(id))
    assert stopped == ("somebody", "stop bulk", job, str(id))


@pytest.mark.parametrize("state", ["paused", "finished"])
def test_a_paused_or_finished_job_can_be_backfilled(db: Connection, job: UUID, state: str) -> None:
    db.execute("update pgsched.jobs set state = %s::pgsched.job_state where id = %s", [state, job])
    assert backfill(db, job)


@pytest.mark.parametrize("state", ["cancelled", "invalid"])
def test_a_cancelled_or_invalid_job_cannot_be_backfilled(db: Connection, job: UUID, state: str) -> None:
    db.execute("update pgsched.jobs set state = %s::pgsched.job_state where id = %s", [state, job])
    with refused("PS011", hint="schedule it again"):
        backfill(db, job)


def test_a_job_with_the_after_completion_rule_cannot_be_backfilled(db: Connection) -> None:
    job = schedule(db, every="1 hour", rules={"after_completion": True})
    with refused("PS011", hint="trigger"):
        backfill(db, job)


def test_backfilling_an_unknown_job_is_refused(db: Connection) -> None:
    with refused("PS010"):
        backfill(db, uuid4())


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"to": "2026-03-01T00:00Z"}, "the earlier instant"),
        ({"from": "-infinity"}, "2026-03-01T09:00:00Z"),
        ({"to": "9000-01-01T00:00Z"}, "now()"),
        ({"from": "2010-03-01T00:00Z"}, "a shorter range"),
        ({"from": "1960-03-01T00:00Z"}, "a later start"),
    ],
)
def test_an_invalid_backfill_range_is_refused(db: Connection, job: UUID, given: dict[str, str], hint: str) -> None:
    for dry_run in (True, False):
        with refused("PS002", hint=hint):
            bulk(db, "backfill", {"job": str(job)} | RANGE | given, dry_run=dry_run)
    assert column(db, "select id from pgsched.bulk_operations") == []


@pytest.mark.parametrize("missing", ["job", "from", "to"])
def test_a_backfill_without_a_job_or_a_range_is_refused(db: Connection, job: UUID, missing: str) -> None:
    with refused("PS000", hint="2026-02-01T00:00:00Z"):
        bulk(db, "backfill", {name: at for name, at in ({"job": str(job)} | RANGE).items() if name != missing})


def test_an_overlapping_backfill_is_refused(db: Connection, job: UUID) -> None:
    first = backfill(db, job)
    with refused("PS011", hint="stop it"):
        backfill(db, job, "2026-03-01T12:00Z", "2026-03-03T00:00Z")
    assert backfill(db, job, "2026-03-02T00:00Z", "2026-03-03T00:00Z")
    call(db, "stop_bulk", id=first)
    assert backfill(db, job)


def test_stopping_a_backfill_cancels_only_its_waiting_rows(db: Connection, job: UUID) -> None:
    id = backfill(db, job)
    waits, runs = (waiting_row(db, job, f"2026-03-01T0{hour}:00Z") for hour in (1, 2))
    regular = waiting_row(db, job, "2026-03-01T03:00Z", plan=1)
    lease(db, runs)
    assert call(db, "stop_bulk", id=id) is True
    assert sorted(column(db, "select id from pgsched.executions where job_id = %s", [job])) == sorted([runs, regular])
    assert row(db, "select id, status::text, reason from pgsched.history where job_id = %s", [job]) == (
        waits,
        "cancelled",
        "backfill stopped",
    )


def test_cancelling_a_job_stops_its_backfills(db: Connection, job: UUID) -> None:
    backfill(db, job)
    waiting_row(db, job, "2026-03-01T01:00Z")
    call(db, "cancel", id=job)
    assert column(db, "select state from pgsched.bulk_operations") == ["stopped"]
    assert column(db, "select id from pgsched.executions where job_id = %s", [job]) == []


def test_pausing_a_job_does_not_affect_its_backfill(db: Connection, job: UUID) -> None:
    backfill(db, job)
    id = waiting_row(db, job, "2026-03-01T01:00Z")
    call(db, "pause", kind="job", name=str(job))
    assert column(db, "select id from pgsched.executions where job_id = %s", [job]) == [id]


def test_a_client_can_start_see_and_stop_backfills_of_its_own_jobs(db: Connection, payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    id = backfill(payments, job, actor="ann")
    waiting_row(db, job, "2026-03-01T01:00Z")
    assert column(payments, "select id from pgsched.bulk_operations") == [id]
    assert call(payments, "stop_bulk", id=id) is True
    actors = column(db, "select actor from pgsched.audit_log where subject = %s and action ~ 'bulk' order by id", [job])
    assert actors == ["ann", value(payments, "select current_user::text")]


def test_a_client_cannot_see_or_stop_another_clients_backfills(db: Connection, payments: Connection, job: UUID) -> None:
    id = backfill(db, job)
    assert column(payments, "select id from pgsched.bulk_operations") == []
    with refused("PS010"):
        backfill(payments, job)
    with refused("PS010"):
        call(payments, "stop_bulk", id=id)
    with refused("42501"):
        payments.execute("insert into pgsched.bulk_operations (action, filter, actor) values ('backfill', '{}', 'me')")


def test_a_client_cancelling_its_job_stops_the_backfill(payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    backfill(payments, job)
    assert call(payments, "cancel", id=job) is True
    assert column(payments, "select state from pgsched.bulk_operations") == ["stopped"]
