"""Keys: one row per key, however often and by however many sessions it is scheduled."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
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
    refused,
    row,
    schedule,
    status,
    value,
    wait_until_blocked,
)

pytestmark = pytest.mark.oldest_postgresql


def test_scheduling_a_key_again_replaces_its_waiting_execution(db: Connection) -> None:
    first = schedule(db, key="k", payload={"n": 1}, delay="1 hour")
    again = schedule(
        db, key="k", payload={"n": 2}, fire_at="2040-01-01Z", target="python:settle", options={"timeout": "5s"}
    )
    assert again == first
    assert row(db, "select payload, fire_at = '2040-01-01Z', target, options from pgsched.executions") == (
        {"n": 2},
        True,
        "python:settle",
        {"timeout": "5s"},
    )


def test_replacing_a_retrying_execution_resets_its_attempts(db: Connection) -> None:
    id = schedule(db, key="k")
    db.execute("update pgsched.executions set attempt = 3, scheduled_for = fire_at")
    assert schedule(db, key="k") == id
    assert row(db, "select attempt, scheduled_for from pgsched.executions") == (0, None)


def test_two_clients_can_use_the_same_key(db: Connection) -> None:
    assert schedule(db, key="k", client="payments") != schedule(db, key="k", client="billing")
    assert counts(db) == (2, 0, 0)


def test_scheduling_a_key_again_returns_its_running_execution_unchanged(db: Connection) -> None:
    id = schedule(db, key="k", payload={"n": 1})
    lease(db, id)
    assert schedule(db, key="k", payload={"n": 2}) == id
    assert value(db, "select payload from pgsched.executions") == {"n": 1}


def test_scheduling_a_key_again_returns_its_recently_succeeded_execution(db: Connection) -> None:
    id = schedule(db, key="k")
    finish(db, id, ago="23 hours")
    assert schedule(db, key="k") == id
    assert counts(db) == (0, 0, 1)


def test_a_succeeded_executions_key_is_free_after_a_day(db: Connection) -> None:
    id = schedule(db, key="k")
    finish(db, id, ago="25 hours")
    assert schedule(db, key="k") != id
    assert counts(db) == (1, 0, 1)


def test_key_retention_sets_how_long_a_succeeded_execution_keeps_its_key(db: Connection) -> None:
    id = schedule(db, key="k")
    finish(db, id, ago="30 seconds")
    db.execute("set pgsched.key_retention = '1 minute'")
    assert schedule(db, key="k") == id
    db.execute("set pgsched.key_retention = '10 seconds'")
    assert schedule(db, key="k") != id


def test_a_key_with_several_successes_returns_the_latest_success(db: Connection) -> None:
    db.execute("set pgsched.key_retention = '-1 day'")
    with pytest.raises(psycopg.Error, match="key_retention is -1 days"):
        db.execute("select pgsched_internal.key_retention()")
    db.execute("set pgsched.key_retention = '0'")
    finish(db, schedule(db, key="k"), ago="2 hours")
    latest = schedule(db, key="k")
    finish(db, latest, ago="1 hour")
    db.execute("reset pgsched.key_retention")
    assert schedule(db, key="k") == latest


def test_a_cancelled_execution_frees_its_key(db: Connection) -> None:
    id = schedule(db, key="k")
    call(db, "cancel", id=id)
    again = schedule(db, key="k")
    assert again != id
    assert status(db, again) == "scheduled"


def test_scheduling_a_key_under_another_ordering_key_leaves_one_row(db: Connection) -> None:
    schedule(db, key="k", ordering_key="a")
    schedule(db, key="k", ordering_key="b")
    schedule(db, key="k")
    assert row(db, "select ordering_key, count(*) over () from pgsched.executions") == (None, 1)


def test_another_ordering_key_is_ignored_while_an_execution_is_running(db: Connection) -> None:
    id = schedule(db, key="k", ordering_key="a")
    lease(db, id)
    assert schedule(db, key="k", ordering_key="b") == id
    assert counts(db) == (1, 0, 0)


def behind(
    db: Connection, store_url: str, held: Callable[[], object], *, undone: bool = False, **arguments: Any
) -> UUID:
    """Schedule in another session, which must wait until ``held`` is committed here or, if ``undone``, rolled back."""
    with (
        psycopg.connect(store_url, autocommit=True) as other,
        psycopg.connect(store_url, autocommit=True) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction(force_rollback=undone):
            held()
            late = threads.submit(lambda: schedule(other, **arguments))
            wait_until_blocked(watcher, other)
        return late.result(20)


def test_two_sessions_scheduling_the_same_key_create_one_row(db: Connection, store_url: str) -> None:
    made: list[UUID] = []
    late = behind(
        db, store_url, lambda: made.append(schedule(db, key="k", payload={"n": 1})), key="k", payload={"n": 2}
    )
    assert [late] == made
    assert column(db, "select payload from pgsched.executions") == [{"n": 2}]


def test_two_sessions_scheduling_a_job_with_the_same_key_create_one_job(db: Connection, store_url: str) -> None:
    made: list[UUID] = []
    late = behind(db, store_url, lambda: made.append(schedule(db, key="k", every="1 hour")), key="k", every="2 hours")
    assert [late] == made
    assert row(db, "select revision, every = '2 hours' from pgsched.jobs") == (2, True)


def test_scheduling_a_key_after_a_concurrent_rollback_creates_a_new_row(db: Connection, store_url: str) -> None:
    made: list[UUID] = []
    late = behind(db, store_url, lambda: made.append(schedule(db, key="k")), undone=True, key="k")
    assert [late] != made
    assert counts(db) == (1, 0, 0)


def test_scheduling_a_key_during_a_cancel_creates_a_new_row(db: Connection, store_url: str) -> None:
    id = schedule(db, key="k")
    assert behind(db, store_url, lambda: finish(db, id, ended="cancelled"), key="k") != id
    assert counts(db) == (1, 0, 1)


@pytest.mark.parametrize("on_conflict", ["replace", "keep"])
@pytest.mark.parametrize("back", [True, False])
def test_scheduling_a_key_again_does_not_wait_for_settling_or_release(
    db: Connection, store_url: str, on_conflict: str, back: bool
) -> None:
    id = schedule(db, key="k", payload={"n": 1})
    lease(db, id)
    with psycopg.connect(store_url, autocommit=True) as worker, worker.transaction():
        if back:
            worker.execute(
                "update pgsched.executions set lease_owner = null, lease_token = null, lease_expires_at = null"
            )
        else:
            finish(worker, id)
        assert schedule(db, key="k", payload={"n": 2}, on_conflict=on_conflict) == id
    assert counts(db) == ((1, 0, 0) if back else (0, 0, 1))


def test_debouncing_does_not_wait_for_an_uncommitted_end(db: Connection, store_url: str) -> None:
    id = schedule(db, key="k")
    lease(db, id)
    with psycopg.connect(store_url, autocommit=True) as worker, worker.transaction():
        finish(worker, id)
        assert schedule(db, key="k", on_conflict="debounce") != id
    assert counts(db) == (1, 0, 1)


def test_scheduling_a_key_waits_for_a_claim_and_returns_the_claimed_row(db: Connection, store_url: str) -> None:
    id = schedule(db, key="k", payload={"n": 1})
    assert behind(db, store_url, lambda: lease(db, id), key="k", payload={"n": 2}) == id
    assert row(db, "select payload, lease_token from pgsched.executions") == ({"n": 1}, 1)


def test_scheduling_a_key_replaces_a_row_whose_claim_is_rolled_back(db: Connection, store_url: str) -> None:
    id = schedule(db, key="k", payload={"n": 1})
    assert behind(db, store_url, lambda: lease(db, id), undone=True, key="k", payload={"n": 2}) == id
    assert row(db, "select payload, lease_token from pgsched.executions") == ({"n": 2}, None)


def test_two_debounces_during_a_running_execution_create_one_row(db: Connection, store_url: str) -> None:
    lease(db, schedule(db, key="k"))
    made: list[UUID] = []
    debounced: dict[str, Any] = {"key": "k", "on_conflict": "debounce"}
    late = behind(db, store_url, lambda: made.append(schedule(db, **debounced)), **debounced)
    assert [late] == made
    assert counts(db) == (2, 0, 0)


def test_scheduling_with_on_conflict_keep_locks_no_row(db: Connection, store_url: str) -> None:
    one_shot = schedule(db, key="one-shot")
    job = schedule(db, key="job", every="1 hour")
    with psycopg.connect(store_url, autocommit=True) as worker, db.transaction():
        assert schedule(db, key="one-shot", on_conflict="keep") == one_shot
        assert schedule(db, key="one-shot", ordering_key="another", on_conflict="keep") == one_shot
        assert schedule(db, key="job", every="1 hour", on_conflict="keep") == job
        assert column(worker, "select id from pgsched.executions for update nowait") == [one_shot]
        assert column(worker, "select id from pgsched.jobs for share nowait") == [job]


def test_with_on_conflict_keep_a_waiting_execution_is_unchanged(db: Connection) -> None:
    id = schedule(db, key="k", payload={"n": 1}, fire_at="2040-01-01Z")
    assert schedule(db, key="k", payload={"n": 2}, on_conflict="keep") == id
    assert row(db, "select payload, fire_at = '2040-01-01Z' from pgsched.executions") == ({"n": 1}, True)


@pytest.mark.parametrize("ordering_key", [None, "another"])
@pytest.mark.parametrize("there", ["waits", "runs", "ended"])
def test_with_on_conflict_reject_a_taken_key_is_refused(db: Connection, there: str, ordering_key: str | None) -> None:
    id = schedule(db, key="k", payload={"n": 1})
    if there == "runs":
        lease(db, id)
    elif there == "ended":
        finish(db, id, ago="1 hour")
    before = counts(db)
    with refused("PS011", hint="another key"):
        schedule(db, key="k", ordering_key=ordering_key, on_conflict="reject")
    assert counts(db) == before
    assert schedule(db, key="k", ordering_key=ordering_key, on_conflict="keep") == id
    assert counts(db) == before


@pytest.mark.parametrize("on_conflict", ["keep", "reject", "debounce"])
def test_scheduling_a_free_key_works_with_every_on_conflict_value(db: Connection, on_conflict: str) -> None:
    id = schedule(db, key="k", on_conflict=on_conflict)
    assert status(db, id) == "scheduled"


def test_debouncing_moves_a_waiting_execution_but_keeps_its_payload(db: Connection) -> None:
    id = schedule(db, key="k", payload={"n": 1}, delay="5 seconds")
    db.execute("update pgsched.executions set attempt = 2")
    again = schedule(
        db, key="k", payload={"n": 2}, target="python:other", fire_at="2040-01-01Z", on_conflict="debounce"
    )
    assert again == id
    assert row(db, "select payload, target, attempt, fire_at = '2040-01-01Z' from pgsched.executions") == (
        {"n": 1},
        "https://shop.example/settle",
        0,
        True,
    )


def test_debouncing_during_a_running_execution_creates_a_second_execution(db: Connection) -> None:
    running = schedule(db, key="k")
    lease(db, running)
    following = schedule(db, key="k", on_conflict="debounce")
    assert following != running
    assert schedule(db, key="k", on_conflict="debounce") == following
    assert (status(db, running), status(db, following)) == ("running", "scheduled")
    finish(db, running)
    assert schedule(db, key="k") == following


def test_debouncing_an_ended_executions_key_creates_a_new_execution(db: Connection) -> None:
    ended = schedule(db, key="k")
    finish(db, ended, ago="1 minute")
    assert schedule(db, key="k", on_conflict="debounce") != ended
    assert counts(db) == (1, 0, 1)


def test_debouncing_can_change_the_ordering_key_but_not_the_payload(db: Connection) -> None:
    schedule(db, key="k", ordering_key="a", payload={"n": 1})
    schedule(db, key="k", ordering_key="b", payload={"n": 2}, on_conflict="debounce")
    assert row(db, "select ordering_key, payload, count(*) over () from pgsched.executions") == ("b", {"n": 1}, 1)


def test_debouncing_during_a_running_execution_can_change_the_ordering_key(db: Connection) -> None:
    running = schedule(db, key="k", ordering_key="a")
    lease(db, running)
    following = schedule(db, key="k", ordering_key="b", on_conflict="debounce")
    assert schedule(db, key="k", ordering_key="b") == following
    assert counts(db) == (2, 0, 0)


def test_the_on_conflict_values_keep_and_reject_apply_to_jobs(db: Connection) -> None:
    id = schedule(db, key="k", every="1 hour")
    assert schedule(db, key="k", every="2 hours", on_conflict="keep") == id
    assert row(db, "select every = '1 hour', revision from pgsched.jobs") == (True, 1)
    with refused("PS011", hint="edit the job"):
        schedule(db, key="k", every="2 hours", on_conflict="reject")
    call(db, "cancel", id=id)
    assert schedule(db, key="k", every="2 hours", on_conflict="reject") != id


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"key": "k", "on_conflict": "ignore"}, "replace, keep, reject or debounce"),
        ({"key": "k", "on_conflict": None}, "replace, keep, reject or debounce"),
        ({"on_conflict": "keep"}, 'give "key"'),
        ({"key": "k", "on_conflict": "debounce", "cron": "@daily"}, "replace, keep or reject"),
        ({"key": "k", "on_conflict": "debounce", "every": "1 hour"}, "replace, keep or reject"),
    ],
)
def test_an_invalid_on_conflict_value_is_refused(db: Connection, arguments: dict[str, str | None], hint: str) -> None:
    with refused("PS000", hint=hint):
        schedule(db, **arguments)
    assert counts(db) == (0, 0, 0)
