"""Dead letters: listed, replayed once with or without changes, or discarded."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import sql

from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, fail, replay, state
from tests.store.store_arrange import (
    TARGET,
    Connection,
    acting,
    call,
    column,
    finish,
    heard,
    lease,
    listening,
    login_role,
    refused,
    row,
    schedule,
    status,
    value,
)

pytestmark = pytest.mark.oldest_postgresql


def test_a_replay_keeps_its_place_before_a_successor_at_the_same_instant(db: Connection) -> None:
    instant = value(db, "select now()")
    first, _ = (schedule(db, fire_at=instant, ordering_key="k") for _ in range(2))
    fail(db, first)
    again = replay(db, first)
    in_order = "select id from pgsched.executions order by coalesce(scheduled_for, fire_at), id"
    assert column(db, in_order)[0] == again
    assert column(db, "select id from pgsched.executions where at_head") == []  # only workers set at_head


def test_a_replay_keeps_its_place_behind_its_predecessor(db: Connection) -> None:
    instant = value(db, "select now()")
    schedule(db, fire_at=instant, ordering_key="k")
    id = schedule(db, fire_at=instant + timedelta(seconds=1), ordering_key="k")
    fail(db, id)
    replay(db, id)
    assert column(db, "select id from pgsched.executions where at_head") == []


def test_a_dead_letter_is_listed_with_its_details_and_reason(db: Connection) -> None:
    id = dead_letter(db, key="k", payload={"n": 1}, options={"timeout": "5s"})
    schedule(db)
    assert row(
        db,
        "select id, key, queue, target, host, payload, options, attempt, status_code, reason, state,"
        " expires_at - finished_at = interval '365 days' from pgsched.dead_letters",
    ) == (
        id, "k", "default", TARGET, "shop.example", {"n": 1}, {"timeout": "5s"},
        5, 503, "503 Service Unavailable", "open", True,
    )  # fmt: skip


def test_a_replay_is_a_new_execution_that_is_due_now(db: Connection, store_url: str) -> None:
    id = dead_letter(db, payload={"n": 1}, options={"timeout": "5s"}, ordering_key="o")
    before = row(db, "select partition, scheduled_for from pgsched.history where id = %s", [id])
    with listening(store_url) as listener:
        new = replay(db, id)
        assert heard(listener, db)
    assert new != id
    assert row(
        db,
        "select target, payload, options, ordering_key, attempt, fire_at <= clock_timestamp(), partition, scheduled_for"
        " from pgsched.executions where id = %s",
        [new],
    ) == (TARGET, {"n": 1}, {"timeout": "5s"}, "o", 0, True, *before)


def test_a_replay_may_change_target_payload_and_options(db: Connection) -> None:
    changes = {"target": "python:repaired", "payload": {"n": 2}, "options": {"timeout": "9s"}}
    new = replay(db, dead_letter(db, payload={"n": 1}), **changes)
    found = row(db, "select target, payload, options from pgsched.executions where id = %s", [new])
    assert found == ("python:repaired", {"n": 2}, {"timeout": "9s"})


def test_a_replay_drops_options_that_limit_its_age(db: Connection) -> None:
    bounds = {"relevant_for": "1m", "max_retry_age": "1m", "deadline": "1m"}
    new = replay(db, dead_letter(db, options={"timeout": "5s", **bounds}))
    assert row(db, "select options, plan from pgsched.executions where id = %s", [new]) == ({"timeout": "5s"}, 0)


def test_replaying_a_dead_letter_twice_returns_the_same_execution(db: Connection) -> None:
    id = dead_letter(db)
    new = replay(db, id)
    assert replay(db, id, target="python:other") == new
    lease(db, new)
    assert replay(db, id) == new
    finish(db, new)
    assert replay(db, id) == new
    assert column(db, "select id from pgsched.executions") == []


def test_a_failed_replay_can_be_replayed_by_its_own_or_the_original_id(db: Connection) -> None:
    id = dead_letter(db)
    first = replay(db, id)
    fail(db, first)
    second = replay(db, id)
    assert second not in (id, first)
    assert (state(db, id), state(db, first)) == ("replayed", "replayed")
    assert replay(db, first) == second


def test_a_cancelled_replay_can_be_replayed_again(db: Connection) -> None:
    id = dead_letter(db)
    first = replay(db, id)
    call(db, "cancel", id=first)
    second = replay(db, id)
    assert second != first
    assert status(db, second) == "scheduled"


def test_a_replay_keeps_the_dead_letters_key(db: Connection) -> None:
    id = dead_letter(db, key="k", ago="1 minute")
    new = replay(db, id)
    assert value(db, "select key from pgsched.executions where id = %s", [new]) == "k"
    finish(db, new)
    assert schedule(db, key="k") == new


def test_a_dead_letter_is_not_replayed_if_its_key_is_taken_again(db: Connection) -> None:
    id = dead_letter(db, key="k", ago="25 hours")
    other = schedule(db, key="k")
    with refused("PS011", hint="discard"):
        replay(db, id)
    finish(db, other)
    with refused("PS011", hint="discard"):
        replay(db, id)
    assert state(db, id) == "open"


@pytest.fixture
def failed_instant(db: Connection) -> tuple[UUID, UUID]:
    """A job and the dead letter of one of its instants."""
    job = schedule(db, every="1 hour")
    id = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select '2026-03-01Z', '2026-03-01Z', j.id, 1, pgsched_internal.partition_of(j), j.client_id, j.target"
        " from pgsched.jobs j where j.id = %s returning id",
        [job],
    )
    fail(db, id)
    return job, id


def test_a_replayed_run_no_longer_belongs_to_the_job(db: Connection, failed_instant: tuple[UUID, UUID]) -> None:
    new = replay(db, failed_instant[1])
    found = row(db, "select job_id, scheduled_for = '2026-03-01Z', plan from pgsched.executions where id = %s", [new])
    assert found == (None, True, 0)


@pytest.mark.parametrize("ended", [None, "succeeded"])
def test_a_run_is_not_replayed_if_its_instant_has_a_live_or_succeeded_run(
    db: Connection, failed_instant: tuple[UUID, UUID], ended: str | None
) -> None:
    job, id = failed_instant
    other = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, target)"
        " select '2026-03-01Z', '2026-03-01Z', j.id, 0, pgsched_internal.partition_of(j), j.target"
        " from pgsched.jobs j where j.id = %s returning id",
        [job],
    )
    if ended:
        finish(db, other, ended=ended)
    with refused("PS011", hint="discard"):
        replay(db, id)


def blocked(db: Connection) -> UUID:
    """A dead letter that blocks its ordering key."""
    id = dead_letter(db, ordering_key="o")
    db.execute(
        "select pgsched_internal.block_key(partition, client_id, ordering_key, id, 'why') from"
        " pgsched.history where id = %s",
        [id],
    )
    return id


def test_a_replay_unblocks_its_ordering_key_but_precedes_held_executions(db: Connection) -> None:
    id = blocked(db)
    held = schedule(db, ordering_key="o")
    db.execute("update pgsched.executions set fire_at = 'infinity', gate = 'order' where id = %s", [held])
    replay(db, id)
    assert column(db, "select execution_id from pgsched.blocked_keys") == []
    assert status(db, held) == "held"


def test_discarding_a_dead_letter_unblocks_its_ordering_key(db: Connection) -> None:
    for is_bulk in (False, True):
        id = blocked(db)
        held = schedule(db, ordering_key="o")
        db.execute("update pgsched.executions set fire_at = 'infinity', gate = 'order' where id = %s", [held])
        if is_bulk:
            advance(db, bulk(db, "discard", {"client": "default"}))
        else:
            call(db, "discard", id=id)
        assert column(db, "select execution_id from pgsched.blocked_keys") == []
        assert status(db, held) == "scheduled"
        db.execute("delete from pgsched.executions")


def test_a_discarded_dead_letter_stays_in_history_and_is_not_replayed(db: Connection) -> None:
    id = dead_letter(db)
    assert [call(db, "discard", id=id, note="known", actor="ann") for _ in range(2)] == [True, False]
    assert (state(db, id), status(db, id)) == ("discarded", "failed")
    assert value(db, "select dealt_with_by from pgsched.dead_letters where id = %s", [id]) == "ann"
    with refused("PS011", hint="schedule it again"):
        replay(db, id)


def test_a_replayed_dead_letter_cannot_be_discarded(db: Connection) -> None:
    id = dead_letter(db)
    replay(db, id)
    with refused("PS011", hint="cancel that execution"):
        call(db, "discard", id=id)


def test_replay_and_discard_are_logged(db: Connection) -> None:
    replayed, discarded = dead_letter(db), dead_letter(db)
    new = replay(db, replayed, note="the shop is back", actor="ann")
    call(db, "discard", id=discarded, note="known", actor="bob")
    assert db.execute(
        "select actor, action, subject, detail from pgsched.audit_log where kind = 'execution' order by id"
    ).fetchall() == [
        ("ann", "replay", replayed, {"execution": str(new), "note": "the shop is back"}),
        ("bob", "discard", discarded, {"note": "known"}),
    ]


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_only_failed_executions_can_be_replayed_or_discarded(db: Connection, verb: str) -> None:
    waits, succeeded = schedule(db), schedule(db)
    finish(db, succeeded)
    for id, hint in ((waits, "wait until it has ended"), (succeeded, "schedule it again")):
        with refused("PS011", hint=hint):
            call(db, verb, id=id)
    with refused("PS010", hint="dead_letters"):
        call(db, verb, id=uuid4())


@pytest.mark.parametrize(
    ("given", "sqlstate"),
    [
        ({"target": "shop.example"}, "PS001"),
        ({"target": ""}, "PS001"),
        ({"options": {"retries": 3}}, "PS004"),
        ({"options": {"max_attempts": 0}}, "PS004"),
        ({"actor": ""}, "PS000"),
    ],
)
def test_an_invalid_replay_is_refused_and_changes_nothing(db: Connection, given: dict[str, Any], sqlstate: str) -> None:
    id = dead_letter(db)
    with refused(sqlstate):
        replay(db, id, **given)
    assert state(db, id) == "open"
    assert column(db, "select id from pgsched.executions") == []


def test_the_dead_letters_for_setting_decides_when_a_dead_letter_expires(db: Connection) -> None:
    id = dead_letter(db, ago="8 days")
    db.execute("update pgsched.clients set dead_letters_for = '7 days' where client_id = 'default'")
    assert column(db, "select id from pgsched.dead_letters") == []
    for verb in ("replay", "discard"):
        with refused("PS011", hint="dead_letters_for"):
            call(db, verb, id=id)
    assert status(db, id) == "failed"


@pytest.mark.parametrize("span", ["1 minute", "4000 days"])
def test_a_dead_letters_for_value_outside_its_bounds_is_refused(db: Connection, span: str) -> None:
    with refused("23514", constraint="dead_letters_for_is_1_hour_to_3653_days"):
        db.execute("update pgsched.clients set dead_letters_for = %s", [span])


def test_a_client_replays_and_discards_its_own_dead_letters(db: Connection, payments: Connection) -> None:
    replayed, discarded = (dead_letter(db, client="payments") for _ in range(2))
    dead_letter(db, client="billing")
    assert sorted(column(payments, "select id from pgsched.dead_letters")) == sorted([replayed, discarded])
    new = replay(payments, replayed)
    assert column(payments, "select id from pgsched.executions") == [new]
    assert call(payments, "discard", id=discarded) is True
    actors = column(db, "select distinct actor from pgsched.audit_log where kind = 'execution'")
    assert actors == [value(payments, "select session_user::text")]


@pytest.mark.parametrize("verb", ["replay", "discard"])
def test_another_clients_dead_letter_is_not_found(db: Connection, payments: Connection, verb: str) -> None:
    theirs, waits = dead_letter(db, client="billing"), schedule(db, client="billing")
    for id in (theirs, waits):
        with refused("PS010"):
            call(payments, verb, id=id)
    assert state(db, theirs) == "open"


def test_a_client_may_not_update_or_delete_dead_letters(db: Connection, payments: Connection) -> None:
    dead_letter(db, client="payments")
    with refused("42501"):
        payments.execute("update pgsched.history set dealt_with_at = now()")
    with refused("42501"):
        payments.execute("delete from pgsched_internal.kept_dead_letters")


def test_a_reader_sees_all_dead_letters_but_may_not_discard_them(db: Connection, store_url: str) -> None:
    id = dead_letter(db, client="payments")
    role = login_role(db, "pgsched_reader")
    with acting(store_url, role) as reader:
        assert column(reader, "select id from pgsched.dead_letters") == [id]
        assert column(reader, "select id from pgsched.bulk_operations") == []
        with refused("42501"):
            call(reader, "discard", id=id)
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))
