"""Executions that depend on others: what holds, releases or skips them, and which dependencies are refused."""

from typing import Any
from uuid import uuid4

import pytest

from tests.store.ends.dependency_arrange import after, end, held, is_due, release, schedule_now, waits_for
from tests.store.store_arrange import (
    Connection,
    call,
    column,
    finish,
    heard,
    lease,
    listening,
    refused,
    row,
    schedule,
    status,
    value,
)

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]


def test_a_dependent_is_held_until_its_predecessor_succeeds(db: Connection) -> None:
    first = schedule(db)
    second = after(db, first)
    assert status(db, second) == "held"
    assert waits_for(db, second) == [first]
    end(db, first)
    assert status(db, second) == "scheduled"
    assert is_due(db, second)
    assert column(db, "select 1 from pgsched.dependencies") == []


def test_a_predecessor_can_be_given_by_key(db: Connection) -> None:
    first = schedule(db, key="extract")
    assert waits_for(db, after(db, "extract")) == [first]


def test_a_predecessor_key_that_looks_like_an_id_is_found(db: Connection) -> None:
    key = str(uuid4())
    first = schedule(db, key=key)
    assert waits_for(db, after(db, key)) == [first]


def test_a_dependent_is_held_until_all_predecessors_have_ended(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, second)
    end(db, first)
    assert waits_for(db, last) == [second]
    assert status(db, last) == "held"
    end(db, second)
    assert is_due(db, last)


def test_a_predecessor_named_twice_counts_once(db: Connection) -> None:
    first = schedule(db, key="extract")
    assert waits_for(db, after(db, first, "extract")) == [first]


def test_a_released_dependent_fires_no_earlier_than_its_fire_at(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first, fire_at="2090-01-01Z")
    end(db, first)
    assert row(db, "select fire_at, scheduled_for from pgsched.executions where id = %s", [last]) == row(
        db, "select timestamptz '2090-01-01Z', timestamptz '2090-01-01Z'"
    )


def test_a_dependent_released_after_its_fire_at_keeps_its_nominal_instant(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first, fire_at="2020-01-01Z")
    end(db, first)
    assert is_due(db, last)
    assert value(db, "select scheduled_for = '2020-01-01Z' from pgsched.executions where id = %s", [last])


def test_a_dependent_without_a_fire_at_is_scheduled_for_its_release(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    end(db, first)
    assert value(db, "select scheduled_for = fire_at from pgsched.executions where id = %s", [last])


@pytest.mark.parametrize("ended", ["failed", "cancelled", "expired", "skipped"])
def test_a_dependent_of_an_unsuccessful_predecessor_is_skipped(db: Connection, ended: str) -> None:
    first = schedule(db)
    last = after(db, first)
    end(db, first, ended)
    assert status(db, last) == "skipped"
    reason = value(db, "select reason from pgsched.status where id = %s", [last])
    assert reason.startswith(f"execution {first}, which it waited for, ")
    assert reason.endswith(ended)
    assert value(db, "select scheduled_for <= now() from pgsched.history where id = %s", [last])


@pytest.mark.parametrize("ended", ["failed", "cancelled", "expired", "skipped"])
def test_an_after_outcome_of_any_accepts_every_outcome(db: Connection, ended: str) -> None:
    first = schedule(db)
    last = after(db, first, after_outcome="any")
    end(db, first, ended)
    assert is_due(db, last)


def test_a_failure_skips_dependents_up_to_one_that_accepts_any_outcome(db: Connection) -> None:
    first = schedule(db)
    second = after(db, first)
    third = after(db, second)
    fourth = after(db, third, after_outcome="any")
    end(db, first, "failed")
    while release(db):
        pass
    assert [status(db, id) for id in (second, third)] == ["skipped", "skipped"]
    assert is_due(db, fourth)


def test_one_failed_predecessor_skips_the_dependent(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, second)
    end(db, first, "failed")
    assert status(db, last) == "skipped"
    end(db, second)
    assert column(db, "select 1 from pgsched.dependencies") == []
    assert column(db, "select 1 from pgsched.history where awaited") == []


def test_a_dependent_of_succeeded_predecessors_is_due_immediately(db: Connection) -> None:
    first, second = schedule(db), schedule(db, key="k")
    finish(db, first)
    finish(db, second)
    last = after(db, first, "k")
    assert status(db, last) == "scheduled"
    assert is_due(db, last)


def test_a_dependent_of_a_succeeded_predecessor_keeps_a_later_fire_at(db: Connection) -> None:
    first = schedule(db)
    finish(db, first)
    last = after(db, first, fire_at="2090-01-01Z")
    assert value(db, "select fire_at = '2090-01-01Z' from pgsched.executions where id = %s", [last])


def test_a_dependent_of_a_succeeded_predecessor_wakes_workers(db: Connection, store_url: str) -> None:
    first = schedule(db)
    finish(db, first)
    with listening(store_url) as listener:
        after(db, first)
        assert ["@" in payload for payload in heard(listener, db)] == [True]


def test_a_new_dependency_and_its_release_notify_workers(db: Connection, store_url: str) -> None:
    first = schedule(db)
    with listening(store_url) as listener:
        after(db, first)
        assert heard(listener, db) == ["release"]
        end(db, first)
        assert sorted("@" in payload for payload in heard(listener, db)) == [False, True]


def test_depending_on_a_failed_execution_is_refused(db: Connection) -> None:
    first = schedule(db)
    finish(db, first, ended="failed")
    with refused("PS011", hint="after_outcome => 'any'"):
        after(db, first)
    assert value(db, "select count(*) from pgsched.executions") == 0
    assert is_due(db, after(db, first, after_outcome="any"))


def test_a_predecessor_key_prefers_the_live_execution_to_an_ended_one(db: Connection) -> None:
    old = schedule(db, key="k")
    finish(db, old, ended="failed", ago="2 days")
    new = schedule(db, key="k")
    assert waits_for(db, after(db, "k")) == [new]


@pytest.mark.parametrize("name", ["0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "nothing", "", "'; drop"])
def test_an_unknown_predecessor_is_not_found(db: Connection, name: str) -> None:
    with refused("PS010", hint="the key of an execution"):
        after(db, name)


def test_depending_on_another_clients_execution_is_refused(db: Connection) -> None:
    theirs = schedule(db, client="theirs", key="k")
    for name in (str(theirs), "k"):
        with refused("PS010"):
            after(db, name, client="mine")


@pytest.mark.parametrize("by_key", [True, False])
def test_depending_on_a_job_is_refused(db: Connection, by_key: bool) -> None:
    job = schedule(db, every="1 hour", key="hourly")
    with refused("PS011", hint="one of its executions"):
        after(db, "hourly" if by_key else job)


@pytest.mark.parametrize(
    ("sqlstate", "arguments"),
    [
        ("PS002", {"cron": "0 9 * * *"}),
        ("PS002", {"every": "1 hour"}),
        ("PS000", {"after_outcome": "failure"}),
        ("PS000", {"after_outcome": None}),
        ("PS000", {"after": None, "after_outcome": "any"}),
        ("PS000", {"after": ["a", None]}),
        ("PS000", {"after": [str(n) for n in range(101)]}),
        ("PS000", {"key": "k", "on_conflict": "debounce"}),
    ],
)
def test_invalid_dependency_arguments_are_refused(db: Connection, sqlstate: str, arguments: dict[str, Any]) -> None:
    schedule(db, key="a")
    with refused(sqlstate):
        schedule_now(db, **{"after": ["a"], **arguments})


def test_an_execution_with_an_empty_predecessor_list_is_due_immediately(db: Connection) -> None:
    assert is_due(db, schedule_now(db, after=[]))


def test_a_deleted_predecessor_counts_as_cancelled(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    db.execute("delete from pgsched.executions where id = %s", [first])
    assert release(db) == 0
    assert value(db, "select decided from pgsched_internal.release_abandoned(100, null)") == 1
    assert status(db, last) == "skipped"
    assert "was cancelled" in value(db, "select reason from pgsched.status where id = %s", [last])


def test_dependents_of_missing_predecessors_are_skipped_in_chunks(db: Connection) -> None:
    before = sorted(schedule(db) for _ in range(5))
    waiting = {id: [after(db, id) for _ in range(3)] for id in before}
    db.execute("delete from pgsched.executions where id = any (%s)", [[before[0], before[3]]])
    assert row(db, "select * from pgsched_internal.release_abandoned(2, null)") == (3, before[1])
    assert row(db, "select * from pgsched_internal.release_abandoned(2, %s)", [before[1]]) == (3, before[3])
    assert row(db, "select * from pgsched_internal.release_abandoned(2, %s)", [before[3]]) == (0, None)
    assert {status(db, id) for id in waiting[before[3]]} == {"skipped"}
    assert {status(db, id) for id in waiting[before[4]]} == {"held"}


def test_calling_wait_for_adds_the_delay_to_the_predecessors_end(db: Connection) -> None:
    first, last = schedule(db), held(db)
    assert call(db, "pgsched_internal.wait_for", execution_id=last, after_id=first, outcome="any", delay="1 hour")
    end(db, first, "failed")
    assert value(
        db,
        "select e.fire_at = h.finished_at + interval '1 hour' from pgsched.executions e, pgsched.history h"
        " where e.id = %s and h.id = %s",
        [last, first],
    )


def test_calling_wait_for_returns_false_if_the_predecessor_has_ended(db: Connection) -> None:
    first, last = schedule(db), held(db)
    finish(db, first)
    assert call(db, "pgsched_internal.wait_for", execution_id=last, after_id=first) is False
    assert column(db, "select 1 from pgsched.dependencies") == []


def test_calling_wait_for_on_an_execution_that_is_not_held_is_refused(db: Connection) -> None:
    first, running = schedule(db), schedule(db)
    lease(db, running)
    for id in (running, uuid4()):
        with refused("PS010"):
            call(db, "pgsched_internal.wait_for", execution_id=id, after_id=first)


def test_marking_a_predecessor_as_awaited_is_a_hot_update(db: Connection) -> None:
    first = schedule(db)
    hot = "select sum(pg_stat_get_xact_tuples_hot_updated(inhrelid)) from pg_inherits"
    with db.transaction():
        before = value(db, f"{hot} where inhparent = 'pgsched.executions'::regclass")
        after(db, first)
        assert value(db, f"{hot} where inhparent = 'pgsched.executions'::regclass") == before + 1
