"""pgsched.schedule and plain inserts: what they write, all of it in the caller's transaction."""

from datetime import timedelta

import psycopg
import pytest

from tests.store.store_arrange import TARGET, Connection, call, column, counts, row, schedule, value

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]


def test_a_scheduled_execution_has_the_given_values(db: Connection) -> None:
    id = schedule(db, payload={"merchant": 42}, options={"timeout": "PT5S"}, ordering_key="42", fire_at="2040-01-01Z")
    assert row(
        db,
        "select client_id, target, payload, options, key, ordering_key, attempt, lease_token,"
        " fire_at = '2040-01-01Z', scheduled_for from pgsched.executions where id = %s",
        [id],
    ) == ("default", TARGET, {"merchant": 42}, {"timeout": "PT5S"}, None, "42", 0, None, True, None)


def test_a_delay_counts_from_the_start_of_the_transaction(db: Connection) -> None:
    with db.transaction():
        id = schedule(db, delay="10 minutes")
        ahead = value(db, "select fire_at - pgsched.now() from pgsched.executions where id = %s", [id])
    assert ahead == timedelta(minutes=10)


def test_an_execution_without_a_fire_at_is_due_now(db: Connection) -> None:
    with db.transaction():
        id = call(db, "schedule", target=TARGET)
        assert value(db, "select fire_at = pgsched.now() from pgsched.executions where id = %s", [id])


def test_an_execution_scheduled_in_the_past_is_due_immediately(db: Connection) -> None:
    id = schedule(db, fire_at="2020-01-01Z")
    assert value(db, "select fire_at < pgsched.now() from pgsched.executions where id = %s", [id])


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost",
        "https://shop.example:8443/settle?merchant=42",
        "https://[2001:db8::1]:8443/settle",
        "HTTPS://shop.example/settle",
        "https://shop.example/a@b",
        "python:billing.settle",
        "sql:billing.settle",
        "notify:orders",
        "kafka:orders.v1",
    ],
)
def test_every_kind_of_target_is_accepted(db: Connection, target: str) -> None:
    id = schedule(db, target=target)
    assert value(db, "select target from pgsched.executions where id = %s", [id]) == target


def test_execution_ids_increase_in_order_of_creation(db: Connection) -> None:
    first = schedule(db)
    db.execute("select pg_sleep(0.002)")  # UUIDs of version 7 are in order by millisecond
    second = schedule(db)
    assert first < second
    assert first.version == second.version == 7


def test_rows_with_the_same_ordering_key_share_a_partition(db: Connection) -> None:
    for _ in range(8):
        schedule(db, ordering_key="merchant 42")
    assert value(db, "select count(distinct partition) from pgsched.executions") == 1


def test_rows_without_keys_spread_over_the_queues_partitions(db: Connection) -> None:
    for _ in range(40):
        schedule(db)
    partitions = set(column(db, "select partition from pgsched.executions"))
    assert partitions <= set(range(16))
    assert len(partitions) > 4


def test_a_queues_rows_go_only_to_its_own_partitions(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as db:
        db.execute("insert into pgsched.queues values ('orders', 16)")
        for n in range(16, 32):
            db.execute(
                f"create table pgsched_internal.executions_{n} partition of pgsched.executions for values in ({n})"
            )
        for _ in range(10):
            schedule(db, queue="orders")
        schedule(db, queue="orders", key="settle-42")
        assert set(column(db, "select partition from pgsched.executions")) <= set(range(16, 32))
        assert set(column(db, "select queue from pgsched.status")) == {"orders"}


def test_a_scheduled_cron_job_has_the_given_values_and_is_unplanned(db: Connection) -> None:
    id = schedule(db, cron="30 2 * * *", timezone="Europe/Berlin", key="nightly", payload={"full": True})
    assert row(
        db,
        "select key, cron, timezone, every, payload, state::text, revision, planned_revision from"
        " pgsched.jobs where id = %s",
        [id],
    ) == ("nightly", "30 2 * * *", "Europe/Berlin", None, {"full": True}, "active", 1, 0)
    assert counts(db) == (0, 1, 0)


def test_a_scheduled_interval_job_has_the_given_interval(db: Connection) -> None:
    id = schedule(db, every="15 minutes")
    assert row(db, "select cron, every, timezone from pgsched.jobs where id = %s", [id]) == (
        None,
        timedelta(minutes=15),
        "UTC",
    )


@pytest.mark.parametrize("cron", ["@daily", "*/5 * * * *", "0 */5 * * * *", "0 9 * * mon-fri"])
def test_valid_cron_expressions_are_accepted(db: Connection, cron: str) -> None:
    assert value(db, "select cron from pgsched.jobs where id = %s", [schedule(db, cron=cron)]) == cron


def test_scheduling_a_jobs_key_again_edits_the_job(db: Connection) -> None:
    first = schedule(db, cron="30 2 * * *", key="nightly")
    assert schedule(db, cron="30 3 * * *", key="nightly", target="python:nightly") == first
    assert row(db, "select cron, target, revision from pgsched.jobs") == ("30 3 * * *", "python:nightly", 2)


def test_rescheduling_a_job_deletes_its_planned_row(db: Connection) -> None:
    job = schedule(db, every="1 hour", key="hourly")
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, target)"
        " select pgsched.now() + interval '1 hour', pgsched.now() + interval '1 hour', id,"
        " revision, pgsched_internal.partition_of(j), target"
        " from pgsched.jobs j where id = %s",
        [job],
    )
    db.execute("update pgsched.jobs set planned_revision = revision")
    schedule(db, every="2 hours", key="hourly")
    assert counts(db) == (0, 1, 0)


def test_rescheduling_a_paused_job_leaves_it_paused(db: Connection) -> None:
    job = schedule(db, every="1 hour", key="hourly")
    call(db, "pause", kind="job", name=str(job))
    schedule(db, every="2 hours", key="hourly")
    assert value(db, "select state::text from pgsched.jobs") == "paused"


def test_rescheduling_an_invalid_job_makes_it_active(db: Connection) -> None:
    schedule(db, cron="0 0 30-31 2 *", key="never")
    db.execute("update pgsched.jobs set state = 'invalid', reason = 'there is no 31st of February'")
    schedule(db, cron="0 0 28 2 *", key="never")
    assert row(db, "select state::text, reason from pgsched.jobs") == ("active", None)


def test_a_cancelled_jobs_key_can_be_used_by_a_new_job(db: Connection) -> None:
    first = schedule(db, every="1 hour", key="hourly")
    call(db, "cancel", id=first)
    assert schedule(db, every="1 hour", key="hourly") != first


def test_a_rolled_back_schedule_leaves_no_rows(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        schedule(db)
        schedule(db, key="settle-42")
        schedule(db, every="1 hour")
        db.execute("insert into pgsched.executions (target, fire_at) values (%s, now())", [TARGET])
        assert counts(db) == (3, 1, 0)
    assert counts(db) == (0, 0, 0)


def test_scheduled_rows_are_visible_only_after_the_commit(db: Connection, store_url: str) -> None:
    with psycopg.connect(store_url, autocommit=True) as other, db.transaction():
        schedule(db)
        assert counts(other) == (0, 0, 0)
    assert counts(db) == (1, 0, 0)


def test_a_plain_insert_needs_only_a_target_and_a_fire_at(db: Connection) -> None:
    db.execute(
        "insert into pgsched.executions (target, payload, fire_at)"
        " select %s, jsonb_build_object('n', n), now() + n * interval '1 second' from generate_series(1, 200) n",
        [TARGET],
    )
    rows, partitions = row(db, "select count(*), count(distinct partition) from pgsched.executions")
    assert rows == 200
    assert partitions == 16
    assert value(db, "select distinct client_id from pgsched.executions") == "default"


def test_scheduling_finds_the_key_of_a_plain_insert(db: Connection) -> None:
    db.execute(
        "insert into pgsched.executions (target, fire_at, client_id, key, partition)"
        " values (%s, now(), 'payments', 'k', pgsched.partition_for('default', 'payments', 'k'))",
        [TARGET],
    )
    waiting = value(db, "select id from pgsched.executions")
    assert schedule(db, client="payments", key="k") == waiting


def test_an_inserted_job_is_active_and_unplanned(db: Connection) -> None:
    db.execute(
        "insert into pgsched.jobs (client_id, key, cron, timezone, target) values ('payments', 'n',"
        " '@daily', 'UTC', %s)",
        [TARGET],
    )
    assert row(db, "select state::text, revision, planned_revision from pgsched.jobs") == ("active", 1, 0)
