"""Executions cancelled and rescheduled in bulk: counted, changed in chunks at a rate, stopped, and who may do it."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.store.bulk.bulk_arrange import advance, bulk, carry_out, count, progress
from tests.store.ends.dependency_arrange import after
from tests.store.pull.pull_arrange import pulled_queue
from tests.store.store_arrange import (
    TARGET,
    Connection,
    call,
    column,
    heard,
    lease,
    listening,
    planned,
    refused,
    row,
    schedule,
    status,
    value,
)

pytestmark = pytest.mark.oldest_postgresql

MINE = {"client": "shop"}
AT = datetime(2040, 3, 1, 9, tzinfo=UTC)
MANY = """
insert into pgsched.executions (client_id, target, fire_at, labels)
select 'shop', 'notify:a', '2035-01-01Z', case when n % 10 = 0 then '{"team": "mail"}'::jsonb end
  from generate_series(1, %s) n""".replace("% 10", "%% 10")


def one(db: Connection, **given: Any) -> UUID:
    return schedule(db, **{"client": "shop", "fire_at": "2035-01-01Z", **given})


def each_of_a_kind(db: Connection) -> dict[str, UUID]:
    """Executions of a client, each of which a different filter selects."""
    pulled_queue(db)
    found = {
        "a key": one(db, key="k"),
        "a host": one(db, target="https://Other.example/x"),
        "labels": one(db, labels={"team": "mail", "campaign": "spring"}),
        "a queue": one(db, target="queue:", queue="orders"),
        "an instant": one(db, fire_at="2036-06-01Z"),
        "another client": one(db, client="other", fire_at="2034-01-01Z"),
        "held": one(db),
        "retrying": one(db),
        "running": one(db),
    }
    job = schedule(db, every="1 hour", client="shop")
    found["a job"] = planned(db, job)
    db.execute("update pgsched.executions set fire_at = 'infinity', scheduled_for = fire_at where id = %s",
               [found["held"]])  # fmt: skip
    db.execute("update pgsched.executions set attempt = 1 where id = %s", [found["retrying"]])
    lease(db, found["running"])
    return found


FILTERS: dict[str, dict[str, Any]] = {
    "a key": {"key": "k"},
    "a host": {"host": "OTHER.example"},
    "labels": {"labels": {"campaign": "spring"}},
    "a queue": {"queue": "orders"},
    "an instant": {"client": "shop", "from": "2036-01-01T00:00:00Z", "to": "2037-01-01T00:00:00Z"},
    "another client": {"client": "other"},
    "held": {"client": "shop", "status": "held"},
    "retrying": {"client": "shop", "status": ["retrying"]},
    "running": {"client": "shop", "status": ["running"]},
}


@pytest.mark.parametrize("kind", FILTERS)
def test_each_filter_counts_and_cancels_only_matching_executions(db: Connection, kind: str) -> None:
    ids = each_of_a_kind(db)
    assert count(db, "cancel", FILTERS[kind]) == (1, True)
    asked = bulk(db, "cancel", FILTERS[kind], note="taken back")
    assert carry_out(db, asked)[0] == 1
    assert progress(db, asked) == ("finished", 1, 0, 0)
    assert {name for name, id in ids.items() if status(db, id) == "cancelled"} == {kind}
    assert value(db, "select reason from pgsched.history") == "taken back"


def test_cancelling_by_job_cancels_runs_and_keeps_the_job_active(db: Connection) -> None:
    job = schedule(db, every="1 hour", client="shop")
    run = planned(db, job)
    assert carry_out(db, bulk(db, "cancel", {"job": str(job)}))[0] == 1
    assert status(db, run) == "cancelled"
    assert row(db, "select state::text, planned_revision from pgsched.jobs") == ("active", 0)


def test_cancelling_a_running_execution_notifies_its_worker(db: Connection, store_url: str) -> None:
    id = one(db)
    lease(db, id)
    asked = bulk(db, "cancel", MINE)
    with listening(store_url) as listener:
        carry_out(db, asked)
        assert f"stop {id}" in heard(listener, db)


@pytest.mark.parametrize("given", [{"fire_at": AT}, {"shift": "1 hour"}, {"shift": "-1 hour"}])
def test_bulk_reschedule_skips_running_executions_and_job_runs(db: Connection, given: dict[str, Any]) -> None:
    ids = each_of_a_kind(db)
    before: dict[Any, Any] = dict(
        db.execute("select id, coalesce(scheduled_for, fire_at) from pgsched.executions").fetchall()
    )
    asked = bulk(db, "reschedule", MINE, **given)
    assert carry_out(db, asked)[0] == 7
    assert progress(db, asked) == ("finished", 7, 2, 0)
    later: dict[Any, Any] = dict(db.execute("select id, fire_at from pgsched.executions").fetchall())
    for name, id in ids.items():
        if name in ("running", "a job", "another client"):
            assert later[id] == before[id]
        elif "fire_at" in given:
            assert later[id] == AT
        else:
            assert abs((later[id] - before[id]).total_seconds()) == 3600


def test_rescheduling_a_held_execution_drops_its_dependencies(db: Connection) -> None:
    id = after(db, one(db), client="shop")
    carry_out(db, bulk(db, "reschedule", {"client": "shop", "status": "held"}, fire_at=AT))
    assert value(db, "select fire_at from pgsched.executions where id = %s", [id]) == AT
    assert column(db, "select after_id from pgsched.dependencies") == []


def test_a_bulk_operation_ignores_executions_scheduled_after_its_start(db: Connection) -> None:
    one(db)
    asked = bulk(db, "cancel", MINE)
    later = one(db)
    assert carry_out(db, asked)[0] == 1
    assert status(db, later) == "scheduled"


def test_a_bulk_operation_without_matches_finishes_immediately(db: Connection) -> None:
    one(db)
    for filter in ({"client": "nobody"}, {"queue": "nowhere"}, {"client": "shop", "status": []}):
        assert count(db, "cancel", filter) == (0, True)
        asked = bulk(db, "cancel", filter)
        assert carry_out(db, asked)[1] <= value(db, "select 16 * count(*) from pgsched.queues")
        assert progress(db, asked) == ("finished", 0, 0, 0)


def test_two_thousand_executions_are_each_changed_once_in_chunks(db: Connection) -> None:
    db.execute("set pgsched.notify = off")
    db.execute(MANY, [2_000])
    assert count(db, "cancel", {"labels": {"team": "mail"}}) == (200, True)
    some = bulk(db, "cancel", {"labels": {"team": "mail"}}, rate=100_000)
    assert carry_out(db, some)[0] == 200
    asked = bulk(db, "reschedule", MINE, shift="1 hour", rate=100_000)
    changed, turns = carry_out(db, asked, most=100)
    assert (changed, turns <= 60) == (1_800, True)
    assert column(db, "select distinct fire_at = '2035-01-01 01:00Z' from pgsched.executions") == [True]
    assert column(db, "select count(*) from pgsched.history") == [200]


def test_a_bulk_operation_runs_at_its_rate_and_can_be_stopped(db: Connection) -> None:
    db.execute(MANY, [100])
    asked = bulk(db, "cancel", MINE, rate=10)
    done = sum(advance(db, asked)[0] for _ in range(40))
    assert 20 <= done < 100
    assert progress(db, asked)[0] == "active"
    assert call(db, "stop_bulk", id=asked, actor="ann") is True
    assert call(db, "stop_bulk", id=asked) is False
    assert advance(db, asked) == (0, False, False)
    assert value(db, "select count(*) from pgsched.executions") == 100 - done


def test_a_bulk_operation_retries_locked_executions_later(db: Connection, store_url: str) -> None:
    locked, free = one(db), one(db)
    asked = bulk(db, "cancel", MINE)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.executions where id = %s for update", [locked])
        for _ in range(20):
            advance(db, asked)
        assert (status(db, free), status(db, locked)) == ("cancelled", "scheduled")
        assert progress(db, asked) == ("active", 1, 0, 0)
        assert "locked" in value(db, "select reason from pgsched.bulk_operations")
        other.rollback()
    assert carry_out(db, asked)[0] == 1
    assert status(db, locked) == "cancelled"
    assert column(db, "select id from pgsched_internal.rows_to_come_back_to") == []


def test_a_claimed_execution_can_be_cancelled_but_not_moved_in_bulk(db: Connection, store_url: str) -> None:
    id = one(db)
    moved = bulk(db, "reschedule", MINE, fire_at=AT)
    with psycopg.connect(store_url) as worker:
        lease(worker, id)
        for _ in range(20):
            advance(db, moved)
        assert progress(db, moved) == ("active", 0, 0, 0)
        worker.commit()
    assert carry_out(db, moved)[0] == 0
    assert progress(db, moved) == ("finished", 0, 1, 0)
    assert carry_out(db, bulk(db, "cancel", MINE))[0] == 1
    assert status(db, id) == "cancelled"


def test_a_bulk_operation_skips_executions_that_no_longer_match(db: Connection, store_url: str) -> None:
    id = one(db, labels={"team": "mail"})
    asked = bulk(db, "cancel", {"labels": {"team": "mail"}})
    with psycopg.connect(store_url) as other:
        call(other, "edit", id=id, changes={"labels": {"team": "sales"}})
        for _ in range(20):
            advance(db, asked)
        assert progress(db, asked) == ("active", 0, 0, 0)
        other.commit()
    carry_out(db, asked)
    assert (progress(db, asked), status(db, id)) == (("finished", 0, 1, 0), "scheduled")


def test_a_bulk_reschedule_counts_unmovable_executions_as_failed(db: Connection) -> None:
    far, near = one(db, fire_at="9999-06-01Z"), one(db)
    asked = bulk(db, "reschedule", MINE, shift="3653 days")
    assert carry_out(db, asked)[0] == 1
    assert progress(db, asked) == ("finished", 1, 0, 1)
    assert value(db, "select fire_at = '9999-06-01Z' from pgsched.executions where id = %s", [far])
    assert value(db, "select fire_at > '2044-01-01Z' from pgsched.executions where id = %s", [near])


def test_a_bulk_cancel_notifies_workers_and_is_logged(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        id = bulk(db, "cancel", MINE, rate=2.5, note="moved", actor="ann")
        assert heard(listener, db) == ["bulk"]
    found = row(db, "select actor, action, subject, kind, detail from pgsched.audit_log")
    assert found == ("ann", "bulk cancel", id, "bulk operation", {"filter": MINE, "rate": 2.5, "note": "moved"})


@pytest.mark.parametrize(
    ("sqlstate", "filter"),
    [
        ("PS000", {}),
        ("PS000", {"status": "scheduled"}),
        ("PS000", {"labels": {}}),
        ("PS000", {"client": "shop", "status": "failed"}),
        ("PS000", {"client": "shop", "status": ["held", 5]}),
        ("PS000", {"client": "shop", "status": None}),
        ("PS000", {"client": None}),
        ("PS000", {"client": ""}),
        ("PS000", {"clinet": "shop"}),
        ("PS000", {"reason": "timeout"}),
        ("PS000", {"job": "42"}),
        ("PS000", {"labels": {"team": 5}}),
        ("PS000", {"host": "x" * 20_000}),
        ("PS000", []),
        ("PS000", "shop"),
        ("PS002", {"from": "yesterday"}),
        ("PS002", {"client": "shop", "to": "2030-01-01T00:00:00"}),
    ],
    ids=lambda given: str(given)[:40],
)
def test_an_invalid_filter_is_refused(db: Connection, sqlstate: str, filter: Any) -> None:
    one(db)
    for action, given in (("cancel", {"dry_run": True}), ("cancel", {}), ("reschedule", {"fire_at": AT})):
        with refused(sqlstate):
            bulk(db, action, filter, **given)
    assert column(db, "select id from pgsched.bulk_operations") == []


@pytest.mark.parametrize("rate", [0, -1, 1e9, float("nan")])
def test_an_invalid_rate_is_refused(db: Connection, rate: float) -> None:
    with refused("PS002", hint="such as 10"):
        bulk(db, "cancel", MINE, rate=rate)


@pytest.mark.parametrize(
    "given", [{}, {"fire_at": AT, "shift": "1 hour"}, {"fire_at": "infinity"}, {"shift": "4000 days"}]
)
def test_a_bulk_reschedule_requires_exactly_one_valid_fire_at_or_shift(db: Connection, given: dict[str, Any]) -> None:
    with refused("PS002", hint="give"):
        bulk(db, "reschedule", MINE, **given)


def test_a_client_has_at_most_a_hundred_active_bulk_operations(db: Connection, payments: Connection) -> None:
    ids = [bulk(payments, "cancel", {"key": "k"}) for _ in range(100)]
    with refused("PS011", hint="wait until one"):
        bulk(payments, "reschedule", {"key": "k"}, fire_at=AT)
    bulk(db, "cancel", {"key": "k"})
    call(payments, "stop_bulk", id=ids[0])
    bulk(payments, "replay", {"key": "k"})


def test_stopping_an_unknown_bulk_operation_is_refused(db: Connection) -> None:
    with refused("PS010"):
        call(db, "stop_bulk", id=uuid4())


def test_a_clients_bulk_operations_affect_only_its_own_executions(db: Connection, payments: Connection) -> None:
    mine, theirs = one(db, client="payments"), one(db)
    both = {"from": "2020-01-01T00:00:00Z"}
    assert count(payments, "cancel", both) == (1, True)
    id = bulk(payments, "cancel", both)
    assert column(payments, "select id from pgsched.bulk_operations") == [id]
    carry_out(db, id)
    assert (status(db, mine), status(db, theirs)) == ("cancelled", "scheduled")
    with refused("PS012", hint="use SET ROLE"):
        bulk(payments, "cancel", MINE)
    with refused("PS012", hint="use SET ROLE"):
        bulk(payments, "reschedule", MINE, fire_at=AT)
    other = bulk(db, "cancel", MINE)
    assert column(payments, "select id from pgsched.bulk_operations") == [id]
    with refused("PS010"):
        call(payments, "stop_bulk", id=other)


@pytest.mark.parametrize("action", ["cancel", "replay", "pause"])
def test_a_role_without_a_client_cannot_start_bulk_operations(
    db: Connection, payments: Connection, action: str
) -> None:
    db.execute("update pgsched.clients set database_role = null")
    with refused("PS012", hint="database_role"):
        bulk(payments, action, {"labels": {"team": "mail"}})


@pytest.mark.parametrize(
    ("action", "given"),
    [
        ("explode", {}),
        (None, {}),
        ("cancel", {"target": "python:moved"}),
        ("replay", {"fire_at": AT}),
        ("cancel", {"shift": "1 hour"}),
    ],
)
def test_an_unknown_action_or_unsuitable_argument_is_refused(
    db: Connection, action: Any, given: dict[str, Any]
) -> None:
    with refused("PS000"):
        bulk(db, action, MINE, **given)


def test_counting_executions_leaves_no_locks_on_partitions(db: Connection, payments: Connection) -> None:
    one(db, client="payments", target=TARGET)
    payments.execute("begin")
    assert count(payments, "cancel", {"client": "payments"}) == (1, True)
    held = value(
        db,
        "select count(*) from pg_locks l join pg_class c on c.oid = l.relation"
        " where l.pid = %s and c.relname like 'executions%%'",
        [payments.info.backend_pid],
    )
    payments.execute("rollback")
    assert held == 0
