"""Starting and cancelling backfills: what is refused, what is noted, whose they are."""

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from psycopg import sql

from tests.store.admin.test_roles import acting, login_role
from tests.store.store_arrange import Connection, call, column, heard, lease, listening, refused, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

RANGE = {"starts_at": "2026-03-01T00:00Z", "ends_at": "2026-03-02T00:00Z"}


@pytest.fixture
def job(db: Connection) -> UUID:
    return schedule(db, every="1 hour")


@pytest.fixture
def payments(db: Connection, store_url: str) -> Iterator[Connection]:
    """A session of the login role that is the client payments."""
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    with acting(store_url, role) as session:
        yield session
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def waiting_row(db: Connection, job: UUID, at: str, *, plan: int = 0) -> UUID:
    """A row of the job for this instant, as a backfill leaves it, or planning by a revision."""
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


def test_a_backfill_starts_active_and_tells_the_workers(db: Connection, store_url: str, job: UUID) -> None:
    with listening(store_url) as listener:
        id = call(db, "backfill", job_id=job, rate=2.5, **RANGE)
        assert "backfill" in heard(listener, db)
    assert row(db, "select job_id, state, rate, planned, reached from pgsched.backfills where id = %s", [id]) == (
        job,
        "active",
        2.5,
        0,
        None,
    )


def test_start_and_cancellation_are_in_the_audit_log(db: Connection, job: UUID) -> None:
    id = call(db, "backfill", job_id=job, actor="api 10.0.0.7", **RANGE)
    call(db, "cancel_backfill", id=id, actor="somebody")
    logged = "select actor, action, detail ->> 'backfill' from pgsched.audit_log where kind = 'backfill' order by id"
    started, cancelled = db.execute(logged).fetchall()
    assert started == ("api 10.0.0.7", "backfill", str(id))
    assert cancelled == ("somebody", "cancel backfill", str(id))


@pytest.mark.parametrize("state", ["paused", "finished"])
def test_a_job_that_plans_nothing_can_be_backfilled(db: Connection, job: UUID, state: str) -> None:
    db.execute("update pgsched.jobs set state = %s::pgsched.job_state where id = %s", [state, job])
    assert call(db, "backfill", job_id=job, **RANGE)


@pytest.mark.parametrize("state", ["cancelled", "invalid"])
def test_a_job_without_a_future_cannot_be_backfilled(db: Connection, job: UUID, state: str) -> None:
    db.execute("update pgsched.jobs set state = %s::pgsched.job_state where id = %s", [state, job])
    with refused("PS011", hint="schedule it again"):
        call(db, "backfill", job_id=job, **RANGE)


def test_a_job_that_counts_from_the_end_of_its_runs_cannot_be_backfilled(db: Connection) -> None:
    job = schedule(db, every="1 hour", rules={"after_completion": True})
    with refused("PS011", hint="trigger"):
        call(db, "backfill", job_id=job, **RANGE)


def test_an_unknown_job_is_not_found(db: Connection) -> None:
    with refused("PS010"):
        call(db, "backfill", job_id=uuid4(), **RANGE)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"ends_at": "2026-03-01T00:00Z"}, "the earlier instant"),
        ({"starts_at": None}, "the earlier instant"),
        ({"starts_at": "-infinity"}, "the earlier instant"),
        ({"ends_at": "9000-01-01T00:00Z"}, "now()"),
        ({"starts_at": "2010-03-01T00:00Z"}, "a shorter range"),
        ({"rate": 0}, "such as 10"),
        ({"rate": float("nan")}, "such as 10"),
        ({"rate": 1e9}, "such as 10"),
        ({"rate": None}, "such as 10"),
    ],
)
def test_a_range_or_rate_that_cannot_be_meant_is_refused(
    db: Connection, job: UUID, given: dict[str, object], hint: str
) -> None:
    with refused("PS002", hint=hint):
        call(db, "backfill", **({"job_id": job} | RANGE | given))
    assert column(db, "select id from pgsched.backfills where job_id = %s", [job]) == []


def test_two_backfills_of_one_range_exclude_each_other(db: Connection, job: UUID) -> None:
    first = call(db, "backfill", job_id=job, **RANGE)
    with refused("PS011", hint="cancel it"):
        call(db, "backfill", job_id=job, starts_at="2026-03-01T12:00Z", ends_at="2026-03-03T00:00Z")
    assert call(db, "backfill", job_id=job, starts_at="2026-03-02T00:00Z", ends_at="2026-03-03T00:00Z")
    call(db, "cancel_backfill", id=first)
    assert call(db, "backfill", job_id=job, **RANGE)


def test_cancelling_takes_back_what_it_planned_and_still_waits(db: Connection, job: UUID) -> None:
    id = call(db, "backfill", job_id=job, **RANGE)
    waits, runs = (waiting_row(db, job, f"2026-03-01T0{hour}:00Z") for hour in (1, 2))
    regular = waiting_row(db, job, "2026-03-01T03:00Z", plan=1)
    lease(db, runs)
    assert call(db, "cancel_backfill", id=id) is True
    assert sorted(column(db, "select id from pgsched.executions where job_id = %s", [job])) == sorted([runs, regular])
    assert row(db, "select id, status::text, reason from pgsched.history where job_id = %s", [job]) == (
        waits,
        "cancelled",
        "backfill cancelled",
    )


def test_cancelling_twice_says_that_it_had_ended(db: Connection, job: UUID) -> None:
    id = call(db, "backfill", job_id=job, **RANGE)
    assert [call(db, "cancel_backfill", id=id) for _ in range(2)] == [True, False]


def test_an_unknown_backfill_is_not_found(db: Connection) -> None:
    with refused("PS010"):
        call(db, "cancel_backfill", id=uuid4())


def test_cancelling_the_job_cancels_its_backfills(db: Connection, job: UUID) -> None:
    call(db, "backfill", job_id=job, **RANGE)
    waiting_row(db, job, "2026-03-01T01:00Z")
    call(db, "cancel", id=job)
    assert column(db, "select state from pgsched.backfills where job_id = %s", [job]) == ["cancelled"]
    assert column(db, "select id from pgsched.executions where job_id = %s", [job]) == []


def test_pausing_the_job_leaves_a_backfill_alone(db: Connection, job: UUID) -> None:
    call(db, "backfill", job_id=job, **RANGE)
    id = waiting_row(db, job, "2026-03-01T01:00Z")
    call(db, "pause", job_id=job)
    assert column(db, "select id from pgsched.executions where job_id = %s", [job]) == [id]


def test_a_client_backfills_its_own_jobs_and_sees_them(db: Connection, payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    id = call(payments, "backfill", job_id=job, **RANGE, actor="ann")
    waiting_row(db, job, "2026-03-01T01:00Z")
    assert column(payments, "select id from pgsched.backfills") == [id]
    assert call(payments, "cancel_backfill", id=id) is True
    actors = column(
        db, "select actor from pgsched.audit_log where subject = %s and action ~ 'backfill' order by id", [job]
    )
    assert actors == ["ann", value(payments, "select current_user::text")]


def test_a_client_neither_sees_nor_touches_backfills_of_others(db: Connection, payments: Connection, job: UUID) -> None:
    id = call(db, "backfill", job_id=job, **RANGE)
    assert column(payments, "select id from pgsched.backfills") == []
    with refused("PS010"):
        call(payments, "backfill", job_id=job, **RANGE)
    with refused("PS010"):
        call(payments, "cancel_backfill", id=id)
    with refused("42501"):
        payments.execute("insert into pgsched.backfills (job_id, starts_at, ends_at) values (%s, now(), now())", [job])


def test_a_client_cancels_a_job_with_its_backfill(payments: Connection) -> None:
    job = schedule(payments, client="payments", every="1 hour")
    call(payments, "backfill", job_id=job, **RANGE)
    assert call(payments, "cancel", id=job) is True
    assert column(payments, "select state from pgsched.backfills") == ["cancelled"]
