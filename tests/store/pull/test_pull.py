"""Pulled queues: what a claim hands out, and how consumers settle it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.store.ends.dependency_arrange import release
from tests.store.pull.pull_arrange import (
    FIRST,
    claim,
    claim_one,
    complete,
    end_lease,
    fail,
    pulled_queue,
    put,
    put_many,
    run_out,
    wait_over,
)
from tests.store.store_arrange import Connection, call, column, finish, refused, row, schedule, status, value

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

UNKNOWN = UUID(int=7)


@pytest.fixture(autouse=True)
def _orders(db: Connection) -> None:
    pulled_queue(db)


def test_a_claim_returns_due_executions_with_all_their_fields(db: Connection) -> None:
    id = put(db, payload={"n": 1}, key="k", options={"max_attempts": 2})
    handed = claim_one(db)
    assert (handed.id, handed.attempt, handed.client, handed.key, handed.payload, handed.target, handed.options) == (
        id, 1, "default", "k", {"n": 1}, "queue:", {"max_attempts": 2},
    )  # fmt: skip
    assert timedelta(seconds=29) < handed.lease_expires_at - datetime.now(UTC) < timedelta(seconds=31)
    assert handed.scheduled_for == value(db, "select scheduled_for from pgsched.status where id = %s", [id])


def test_a_claimed_execution_is_running_and_names_its_consumer(db: Connection) -> None:
    id = put(db)
    claim_one(db, worker="svc-7")
    assert status(db, id) == "running"
    assert value(db, "select consumer from pgsched.executions where id = %s", [id]) == "svc-7"


def test_an_execution_that_is_not_due_is_not_claimed(db: Connection) -> None:
    put(db, delay="1 hour")
    assert claim(db) == []


def test_a_claim_returns_no_more_executions_than_its_batch_size(db: Connection) -> None:
    put_many(db, 50)
    assert [len(claim(db, 20)) for _ in range(4)] == [20, 20, 10, 0]


def test_a_claim_can_fill_its_batch_from_a_single_partition(db: Connection) -> None:
    for _ in range(20):
        put(db, client="default", ordering_key=None, key=None)
    db.execute("update pgsched.executions set partition = %s", [FIRST + 3])
    assert len(claim(db, 20)) == 20


def test_a_claim_returns_executions_in_order_of_their_nominal_instants(db: Connection) -> None:
    for hours in (3, 1, 2):
        put(db, fire_at=datetime.now(UTC) - timedelta(hours=hours))
    instants = [handed.scheduled_for for handed in claim(db, 48)]  # three of each partition: all are read
    assert instants == sorted(instants)


def test_a_completed_execution_moves_to_history(db: Connection) -> None:
    put(db, payload={"n": 1})
    handed = claim_one(db)
    complete(db, handed, result={"paid": True})
    found = row(
        db, "select status::text, attempt, result, payload, queue from pgsched.status where id = %s", [handed.id]
    )
    assert found == ("succeeded", 1, {"paid": True}, {"n": 1}, "orders")
    assert column(db, "select error from pgsched.attempts") == []


def test_a_failed_execution_waits_for_its_next_attempt(db: Connection) -> None:
    put(db, options={"backoff": ["10m"], "max_attempts": 3})
    handed = claim_one(db)
    assert fail(db, handed) == "retrying"
    waits, reason = row(db, "select fire_at - pgsched.now(), reason from pgsched.executions")
    assert reason == "no paper"
    assert timedelta(minutes=9, seconds=58) < waits <= timedelta(minutes=10)
    assert row(db, "select attempt, error, worker from pgsched.attempts") == (1, "no paper", None)
    assert claim(db) == []
    wait_over(db, handed.id)
    assert claim_one(db).attempt == 2


def test_a_failure_of_the_last_attempt_fails_the_execution(db: Connection) -> None:
    put(db, options={"max_attempts": 1})
    handed = claim_one(db)
    assert fail(db, handed) == "failed"
    assert row(db, "select status::text, reason, attempt from pgsched.history") == ("failed", "no paper", 1)


def test_a_failure_that_is_not_retryable_fails_the_execution(db: Connection) -> None:
    put(db)
    assert fail(db, claim_one(db), retryable=False) == "failed"


def test_a_retry_after_argument_postpones_the_next_attempt(db: Connection) -> None:
    put(db)
    fail(db, claim_one(db), retry_after="2 hours")
    assert value(db, "select fire_at - pgsched.now() > interval '119 minutes' from pgsched.executions")


def test_an_execution_with_an_expired_lease_is_claimed_as_a_new_attempt(db: Connection) -> None:
    put(db)
    first = claim_one(db)
    run_out(db, first)
    second = claim_one(db, worker="svc-2")
    assert (second.id, second.attempt) == (first.id, 2)
    assert second.token != first.token
    assert column(db, "select error from pgsched.attempts") == ["the lease of svc-1 ran out"]


def test_an_expired_lease_has_a_grace_period_before_another_claim(db: Connection) -> None:
    put(db)
    first = claim_one(db)
    end_lease(db, first)
    assert claim(db, worker="svc-2") == []
    until = call(db, "extend", id=first.id, token=first.token)
    assert until == value(db, "select fire_at from pgsched.executions where lease_expires_at = fire_at")
    complete(db, first)
    assert column(db, "select error from pgsched.attempts") == []


def test_an_expired_lease_can_be_claimed_after_its_grace_period(db: Connection) -> None:
    put(db)
    end_lease(db, claim_one(db))
    claim(db)
    assert 4 < value(db, "select pgsched_internal.until_next('orders')") <= 5
    db.execute("update pgsched.executions set fire_at = pgsched.now()")
    assert claim_one(db, worker="svc-2").attempt == 2


def test_a_claim_returns_at_most_sixteen_mebibytes_of_payload(db: Connection) -> None:
    db.execute(
        "insert into pgsched.executions (target, payload, fire_at, partition)"
        " select 'queue:', to_jsonb(repeat(n::text, 400000)), pgsched.now(), %s + n %% 16"
        " from generate_series(10, 40) as n",
        [FIRST],
    )
    assert [len(claim(db, 100)) for _ in range(3)] == [21, 10, 0]


def test_an_expired_lease_on_the_last_attempt_fails_the_execution(db: Connection) -> None:
    put(db, options={"max_attempts": 2})
    for _ in range(2):
        run_out(db, claim_one(db))
    assert claim(db) == []
    assert row(db, "select status::text, reason, attempt from pgsched.history") == (
        "failed", "the lease of svc-1 ran out", 2,
    )  # fmt: skip
    assert column(db, "select attempt from pgsched.attempts order by attempt") == [1, 2]


def test_reaping_a_lost_lease_does_not_require_a_claim(db: Connection) -> None:
    put(db, options={"max_attempts": 1})
    handed = claim_one(db)
    run_out(db, handed)
    home = value(db, "select partition from pgsched.executions")
    assert call(db, "pgsched_internal.reap_in_hand", partition=home, most=100, ended_by=datetime.now(UTC)) == 1
    assert status(db, handed.id) == "failed"


def test_complete_fail_extend_and_release_refuse_a_stale_token(db: Connection) -> None:
    put(db)
    stale = claim_one(db)
    run_out(db, stale)
    claim_one(db)
    for verb, more in (("complete", {}), ("fail", {"error": "e"}), ("extend", {}), ("release", {})):
        with refused("PS013", hint="drop the result"):
            call(db, verb, id=stale.id, token=stale.token, **more)


def test_an_ended_execution_cannot_be_completed_again(db: Connection) -> None:
    put(db)
    handed = claim_one(db)
    complete(db, handed)
    with refused("PS013"):
        complete(db, handed)


def test_an_execution_with_an_expired_lease_can_still_be_completed(db: Connection) -> None:
    put(db)
    handed = claim_one(db)
    run_out(db, handed)
    complete(db, handed)
    assert status(db, handed.id) == "succeeded"


def test_extending_a_lease_moves_its_end(db: Connection) -> None:
    put(db)
    handed = claim_one(db, lease="1 s")
    until = call(db, "extend", id=handed.id, token=handed.token, lease="1 hour")
    assert timedelta(minutes=59) < until - handed.lease_expires_at
    assert value(db, "select fire_at = lease_expires_at from pgsched.executions")


def test_a_released_claim_counts_as_a_delivery_but_not_as_an_attempt(db: Connection) -> None:
    put(db)
    handed = claim_one(db)
    call(db, "release", id=handed.id, token=handed.token)
    assert column(db, "select error from pgsched.attempts") == []
    handed = claim_one(db)
    assert (handed.attempt, handed.delivery_count) == (1, 2)


def test_a_claim_whose_lease_expired_counts_as_a_delivery(db: Connection) -> None:
    put(db)
    handed = claim_one(db)
    assert (handed.attempt, handed.delivery_count) == (1, 1)
    run_out(db, handed)
    handed = claim_one(db)
    assert (handed.attempt, handed.delivery_count) == (2, 2)


def test_a_claim_expires_an_execution_past_its_relevant_for_period(db: Connection) -> None:
    put(db, fire_at=datetime.now(UTC) - timedelta(hours=1), options={"relevant_for": "10m"})
    fresh = put(db)
    assert [handed.id for handed in claim(db)] == [fresh]
    assert row(db, "select status::text, reason, attempt from pgsched.history") == (
        "expired", "not started within 10m of its scheduled time", 0,
    )  # fmt: skip


def test_late_executions_expire_after_the_clients_relevant_for_period(db: Connection) -> None:
    db.execute("""insert into pgsched.clients (client_id, options) values ('hasty', '{"relevant_for": "1m"}')""")
    put(db, client="hasty", fire_at=datetime.now(UTC) - timedelta(hours=1))
    assert claim(db) == []
    assert column(db, "select status::text from pgsched.history") == ["expired"]


def test_the_queues_relevant_for_option_applies_except_to_backfills(db: Connection) -> None:
    db.execute("""update pgsched.queues set options = '{"relevant_for": "1m"}' where name = 'orders'""")
    late = datetime.now(UTC) - timedelta(hours=1)
    put(db, fire_at=late)
    asked = put(db, fire_at=late)
    db.execute("update pgsched.executions set plan = 0 where id = %s", [asked])
    assert [handed.id for handed in claim(db)] == [asked]
    db.execute("update pgsched.queues set options = null")


def test_the_clients_max_attempts_option_ends_retries(db: Connection) -> None:
    db.execute("""insert into pgsched.clients (client_id, options) values ('brisk', '{"max_attempts": 1}')""")
    put(db, client="brisk")
    assert fail(db, claim_one(db)) == "failed"


def test_a_paused_clients_executions_are_not_claimed(db: Connection) -> None:
    put(db, client="late_payer")
    call(db, "pause", kind="client", name="late_payer")
    assert claim(db) == []
    call(db, "resume", kind="client", name="late_payer")
    assert len(claim(db)) == 1


def test_a_paused_queues_executions_are_not_claimed(db: Connection) -> None:
    put(db)
    call(db, "pause", kind="queue", name="orders")
    assert claim(db) == []
    call(db, "resume", kind="queue", name="orders")
    assert len(claim(db)) == 1


def test_a_final_failure_calls_the_clients_dead_letter_target(db: Connection) -> None:
    db.execute("insert into pgsched.clients (client_id, dead_letter_target) values ('sad', 'https://a.example/dead')")
    put(db, client="sad")
    fail(db, claim_one(db), retryable=False)
    assert row(db, "select target, queue from pgsched.status where status = 'scheduled'") == (
        "https://a.example/dead", "default",
    )  # fmt: skip


def test_executions_that_expire_do_not_count_towards_the_batch(db: Connection) -> None:
    put_many(db, 60)  # enough, even without the rows that autovacuum holds at that moment
    db.execute("update pgsched.executions set options = '{\"relevant_for\": \"1s\"}', scheduled_for = '2020-01-01Z'"
               " where (payload::int) <= 30")  # fmt: skip
    assert len(claim(db, 10)) == 10


def test_a_dependent_with_the_same_ordering_key_follows_its_predecessor(db: Connection) -> None:
    second = put(db, ordering_key="o", fire_at=datetime.now(UTC) - timedelta(hours=1))
    first = put(db, ordering_key="o", fire_at=datetime.now(UTC) - timedelta(hours=2), after=[str(second)])
    handed = claim_one(db)
    assert handed.id == second
    complete(db, handed)
    release(db)
    assert claim_one(db).id == first


def test_executions_of_an_ordering_key_are_claimed_one_at_a_time_in_order(db: Connection) -> None:
    ids = [put(db, ordering_key="o", fire_at=datetime.now(UTC) - timedelta(hours=hours)) for hours in (3, 2, 1)]
    for id in ids:
        handed = claim_one(db)
        assert handed.id == id
        assert claim(db) == []
        complete(db, handed)


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_releasing_a_cancelled_execution_lets_its_successor_be_claimed(db: Connection, verb: str) -> None:
    put(db, ordering_key="o")
    second = put(db, ordering_key="o")
    handed = claim_one(db)
    assert call(db, "cancel", id=handed.id)
    said = {"error": "no paper"} if verb == "fail" else {}
    with refused("PS013"):
        call(db, verb, id=handed.id, token=handed.token, **said)
    assert claim(db) == []
    call(db, "release", id=handed.id, token=handed.token)
    assert claim_one(db).id == second
    assert value(db, "select count(*) from pgsched.blocked_keys") == 0


def test_releasing_with_an_old_token_does_not_free_the_ordering_key(db: Connection) -> None:
    put(db, ordering_key="o")
    put(db, ordering_key="o")
    earlier = claim_one(db)
    call(db, "release", id=earlier.id, token=earlier.token)
    call(db, "cancel", id=claim_one(db).id)
    with refused("PS013"):
        call(db, "release", id=earlier.id, token=earlier.token)
    assert claim(db) == []


def test_no_execution_is_claimed_from_a_blocked_ordering_key(db: Connection) -> None:
    put(db, ordering_key="o", options={"ordering": "block", "max_attempts": 1}, delay="0 s")
    handed = claim_one(db)
    put(db, ordering_key="o")
    fail(db, handed)
    assert claim(db) == []
    call(db, "resume", kind="ordering_key", client="default", name="o")
    assert len(claim(db)) == 1


def test_an_http_on_success_notification_goes_to_a_worker_served_queue(db: Connection) -> None:
    put(db, options={"on_success": "https://shop.example/told"})
    complete(db, claim_one(db))
    assert row(db, "select target, queue from pgsched.status where status = 'scheduled'") == (
        "https://shop.example/told", "default",
    )  # fmt: skip


def test_an_on_failure_notification_can_go_to_the_pulled_queue(db: Connection) -> None:
    put(db, options={"on_failure": "queue:", "max_attempts": 1})
    first = claim_one(db)
    fail(db, first)
    assert claim_one(db).payload["execution"] == str(first.id)


def test_completing_an_execution_releases_its_dependents(db: Connection) -> None:
    before = put(db)
    after = schedule(db, after=[str(before)])
    complete(db, claim_one(db))
    db.execute("select pgsched_internal.release_dependents(10, null)")
    assert status(db, after) == "scheduled"


def test_completed_executions_leave_no_history_if_the_client_keeps_nothing(db: Connection) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('quiet', 'nothing')")
    put(db, client="quiet")
    complete(db, claim_one(db))
    assert column(db, "select id from pgsched.history") == []


def test_an_inserted_http_target_in_a_pulled_queue_fails(db: Connection) -> None:
    db.execute(
        "insert into pgsched.executions (target, fire_at, partition) values ('https://a.example/', pgsched.now(), %s)",
        [FIRST],
    )
    assert claim(db) == []
    assert "no worker calls its targets" in value(db, "select reason from pgsched.history where status = 'failed'")


def test_a_run_whose_successor_is_not_planned_yet_is_not_claimed(db: Connection) -> None:
    job = call(db, "schedule", target="queue:", queue="orders", every="1 hour")
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, target)"
        " select pgsched.now(), pgsched.now(), j.id, j.revision, pgsched_internal.partition_of(j), j.target"
        " from pgsched.jobs j where j.id = %s",
        [job],
    )
    assert claim(db) == []


def test_a_queue_target_requires_a_pulled_queue(db: Connection) -> None:
    with refused("PS001", hint="pulled"):
        call(db, "schedule", target="queue:")
    with refused("PS001", hint="pulled"):
        call(db, "schedule", target="queue:", cron="* * * * *")


def test_a_target_other_than_queue_is_refused_in_a_pulled_queue(db: Connection) -> None:
    with refused("PS001", hint="target => 'queue:'"):
        call(db, "schedule", target="https://shop.example/", queue="orders")


def test_editing_a_job_into_a_pulled_queue_requires_a_queue_target(db: Connection) -> None:
    job = schedule(db, every="1 hour")
    with refused("PS001"):
        call(db, "edit", id=job, changes={"queue": "orders"})
    assert call(db, "edit", id=job, changes={"queue": "orders", "target": "queue:"})


BAD_CLAIMS = [
    ({"queue": "nothing"}, "PS010", "pgsched.queues"),
    ({"queue": None}, "PS010", "pgsched.queues"),
    ({"queue": "default"}, "PS011", "pulled"),
    ({"worker": ""}, "PS000", "worker"),
    ({"worker": None}, "PS000", "worker"),
    ({"worker": "w" * 201}, "PS000", "worker"),
    ({"batch": 0}, "PS000", "batch"),
    ({"batch": 1001}, "PS000", "batch"),
    ({"batch": None}, "PS000", "batch"),
    ({"lease": "0 s"}, "PS000", "lease"),
    ({"lease": "-1 s"}, "PS000", "lease"),
    ({"lease": "8 days"}, "PS000", "lease"),
    ({"lease": None}, "PS000", "lease"),
]


@pytest.mark.parametrize(("wrong", "sqlstate", "hint"), BAD_CLAIMS, ids=str)
def test_an_invalid_claim_is_refused_and_takes_nothing(
    db: Connection, wrong: dict[str, object], sqlstate: str, hint: str
) -> None:
    put(db)
    given = {"queue": "orders", "worker": "w", "batch": 1, "lease": "1 s"} | wrong
    with refused(sqlstate, hint=hint):
        db.execute("select pgsched.claim(%(queue)s, %(worker)s, %(batch)s::int, %(lease)s::interval)", given)
    assert len(claim(db)) == 1


BAD_RESULTS = [
    ("complete", {"id": UNKNOWN}, "PS010"),
    ("complete", {"id": None}, "PS000"),
    ("complete", {"token": None}, "PS000"),
    ("complete", {"token": 1}, "PS013"),
    ("complete", {"token": -1}, "PS013"),
    ("complete", {"result": {"text": "x" * 1_100_000}}, "PS003"),
    ("fail", {"error": None}, "PS000"),
    ("fail", {"error": ""}, "PS000"),
    ("fail", {"error": "e", "retryable": None}, "PS000"),
    ("fail", {"error": "e", "retry_after": "-1 s"}, "PS000"),
    ("fail", {"error": "e", "token": 2**63 - 1}, "PS013"),
    ("extend", {"lease": "0 s"}, "PS000"),
    ("extend", {"lease": "8 days"}, "PS000"),
    ("extend", {"lease": None}, "PS000"),
    ("release", {"token": 0}, "PS013"),
    ("release", {"id": UNKNOWN}, "PS010"),
]


@pytest.mark.parametrize(("verb", "wrong", "sqlstate"), BAD_RESULTS, ids=str)
def test_an_invalid_result_is_refused_and_settles_nothing(
    db: Connection, verb: str, wrong: dict[str, object], sqlstate: str
) -> None:
    put(db)
    handed = claim_one(db)
    with refused(sqlstate):
        call(db, verb, **{"id": handed.id, "token": handed.token} | wrong)
    assert status(db, handed.id) == "running"


def test_a_workers_execution_cannot_be_completed_by_a_consumer(db: Connection) -> None:
    id = schedule(db)
    token = (1 << 32) | value(db, "select partition from pgsched.executions where id = %s", [id])
    db.execute("update pgsched.executions set lease_token = %s, lease_owner = 1 where id = %s", [token, id])
    with refused("PS013"):
        call(db, "complete", id=id, token=token)
    finish(db, id)
