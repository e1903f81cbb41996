"""pgsched.status: every execution, live or ended, in one view."""

import psycopg
import pytest

from tests.store.store_arrange import (
    Connection,
    acting,
    call,
    column,
    finish,
    lease,
    login_role,
    row,
    schedule,
    status,
    value,
)

pytestmark = pytest.mark.smoke


def test_a_waiting_execution_is_scheduled(db: Connection) -> None:
    assert status(db, schedule(db)) == "scheduled"


def test_a_leased_execution_is_running_and_shows_its_lease(db: Connection) -> None:
    id = schedule(db)
    lease(db, id)
    assert row(
        db,
        "select status::text, worker, lease_expires_at > now(), attempt from pgsched.status where id = %s",
        [id],
    ) == ("running", 1, True, 1)


def test_a_waiting_execution_with_a_failed_attempt_is_retrying(db: Connection) -> None:
    id = schedule(db)
    db.execute("update pgsched.executions set attempt = 1")
    assert status(db, id) == "retrying"


def test_an_execution_with_an_infinite_fire_at_is_held(db: Connection) -> None:
    id = schedule(db)
    db.execute("update pgsched.executions set scheduled_for = fire_at, fire_at = 'infinity'")
    assert status(db, id) == "held"


@pytest.mark.parametrize("ended", ["succeeded", "failed", "cancelled", "expired", "skipped"])
def test_an_ended_execution_shows_its_outcome(db: Connection, ended: str) -> None:
    id = schedule(db)
    finish(db, id, ended=ended)
    assert row(db, "select status::text, finished_at is not null, worker from pgsched.status where id = %s", [id]) == (
        ended,
        True,
        None,
    )


def test_a_retry_does_not_move_the_nominal_instant(db: Connection) -> None:
    id = schedule(db, fire_at="2040-01-01Z")
    db.execute("update pgsched.executions set scheduled_for = fire_at, fire_at = '2040-01-02Z', attempt = 1")
    assert row(
        db, "select scheduled_for = '2040-01-01Z', fire_at = '2040-01-02Z' from pgsched.status where id = %s", [id]
    ) == (True, True)


def test_the_status_view_shows_an_execution_unchanged_after_it_ends(db: Connection) -> None:
    id = schedule(db, client="payments", key="k", payload={"n": 1})
    before = row(db, "select id, client_id, key, queue, target, payload, scheduled_for, created_at from pgsched.status")
    finish(db, id)
    assert (
        row(db, "select id, client_id, key, queue, target, payload, scheduled_for, created_at from pgsched.status")
        == before
    )


def test_the_status_view_keeps_its_columns(db: Connection) -> None:
    assert column(
        db,
        "select attname from pg_attribute where attrelid = 'pgsched.status'::regclass and attnum > 0 order by attnum",
    ) == [
        *("id", "client_id", "key", "job_id", "queue", "status", "target", "payload", "scheduled_for", "fire_at"),
        *("attempt", "created_at", "finished_at", "status_code", "result", "reason", "options", "ordering_key"),
        *(
            "worker",
            "began_at",
            "duration",
            "lease_expires_at",
            "instants",
            "last_scheduled_for",
            "held_by",
            "labels",
            "waits",
        ),
    ]


def test_the_status_of_a_triggered_execution_names_its_job(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    id = call(db, "trigger", job_id=job)
    assert value(db, "select job_id from pgsched.status where id = %s", [id]) == job


def test_an_expired_worker_counts_as_serving_while_it_is_connected(db: Connection, store_url: str) -> None:
    schedule(db, fire_at="2040-01-01Z")
    db.execute(
        "insert into pgsched.workers (name, queues, release, instance, login, expires_at)"
        " select 'late', '{default}', '0', 'abc123', usesysid, now() - interval '1 minute' from pg_stat_activity"
        "  where pid = pg_backend_pid()"
    )
    reason = "select reason from pgsched.status"
    assert value(db, reason) == "waits: no worker serves the queue"
    with psycopg.connect(store_url, application_name="pgsched claim abc123"):
        assert value(db, reason) is None
        db.execute("update pgsched.workers set lost_since = now()")
        assert value(db, reason) == "waits: no worker serves the queue"


def test_a_waiting_executions_status_gives_the_reason_it_cannot_start(db: Connection) -> None:
    schedule(db, fire_at="2040-01-01Z")
    reason = "select reason from pgsched.status"
    assert value(db, reason) == "waits: no worker serves the queue"
    db.execute(
        "insert into pgsched.workers (name, queues, release, expires_at)"
        " values ('w', '{default}', '1', now() + interval '1 hour')"
    )
    assert value(db, reason) is None
    db.execute("update pgsched.queues set paused_at = now()")
    assert value(db, reason) == "waits: the queue is paused"
    db.execute("update pgsched.queues set paused_at = null")


@pytest.mark.parametrize("ended", [None, "succeeded", "failed"])
def test_an_executions_status_is_found_by_id_or_key(db: Connection, ended: str | None) -> None:
    schedule(db, key="other")
    id = schedule(db, key="k", payload={"n": 1}, fire_at="2040-01-01Z")
    if ended is not None:
        finish(db, id, ended=ended)
    shown = row(db, "select * from pgsched.status where id = %s", [id])
    assert row(db, "select * from pgsched.status_of(%s)", [id]) == shown
    assert row(db, "select * from pgsched.status_of(client => 'default', key => 'k')") == shown


def test_an_unknown_id_or_key_has_no_status(db: Connection) -> None:
    assert column(db, "select id from pgsched.status_of('00000000-0000-7000-8000-000000000000')") == []
    assert column(db, "select id from pgsched.status_of(null)") == []
    assert column(db, "select id from pgsched.status_of(client => 'default', key => 'none')") == []


def test_clients_see_the_status_of_their_own_rows_and_readers_of_all_rows(db: Connection, store_url: str) -> None:
    mine, other = login_role(db, "pgsched_client"), login_role(db, "pgsched_reader")
    db.execute(
        "insert into pgsched.clients (client_id, database_role) values ('payments', %s), ('billing', null)", [mine]
    )
    own, foreign = schedule(db, client="payments", key="k"), schedule(db, client="billing", key="k")
    for role, seen in ((mine, [own]), (other, [own, foreign])):
        with acting(store_url, role) as session:
            assert [
                id for id in (own, foreign) if column(session, "select id from pgsched.status_of(%s)", [id])
            ] == seen
            by_key = "select id from pgsched.status_of(client => %s, key => 'k')"
            found = [column(session, by_key, [client]) for client in ("payments", "billing")]
            assert [id for ids in found for id in ids] == seen
        db.execute(f"drop role {role}".encode())
