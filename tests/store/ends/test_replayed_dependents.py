"""Replaying dependents that were skipped because a predecessor failed, after the predecessor was replayed."""

from uuid import UUID

import pytest

from tests.store.ends.dead_letter_arrange import fail, replay
from tests.store.ends.dependency_arrange import after, end, is_due, release, schedule_now, waits_for
from tests.store.store_arrange import Connection, call, finish, refused, row, value

pytestmark = pytest.mark.oldest_postgresql


def failed(db: Connection, *ids: UUID) -> None:
    """Let these executions fail for good, which skips their dependents."""
    for id in ids:
        fail(db, id)
        db.execute("update pgsched.history set awaited = true where id = %s", [id])
    release(db)


def test_a_skipped_dependent_can_be_replayed_after_its_predecessor(db: Connection) -> None:
    first = schedule_now(db)
    second = after(db, first, payload={"n": 2}, key="second")
    failed(db, first)
    assert row(db, "select status::text from pgsched.history where id = %s", [second]) == ("skipped",)
    end(db, replay(db, first))
    again = replay(db, second)
    assert is_due(db, again)
    assert row(db, "select payload, key, target from pgsched.executions where id = %s", [again]) == (
        {"n": 2},
        "second",
        "python:next",
    )
    assert replay(db, second) == again
    assert value(db, "select replayed_as from pgsched.history where id = %s", [second]) == again


def test_a_replayed_dependent_waits_for_its_predecessors_replay(db: Connection) -> None:
    first = schedule_now(db)
    second = after(db, first)
    failed(db, first)
    replayed = replay(db, first)
    again = replay(db, second)
    assert waits_for(db, again) == [replayed]
    assert not is_due(db, again)
    end(db, replayed)
    assert is_due(db, again)


def test_a_skipped_chain_can_only_be_replayed_in_order(db: Connection) -> None:
    first = schedule_now(db)
    second = after(db, first)
    third = after(db, second)
    failed(db, first)
    release(db)
    assert row(db, "select status::text from pgsched.history where id = %s", [third]) == ("skipped",)
    end(db, replay(db, first))
    with refused("PS011", hint="replay that one first"):
        replay(db, third)
    end(db, replay(db, second))
    assert is_due(db, replay(db, third))


def test_a_replayed_dependent_still_waits_for_all_its_predecessors(db: Connection) -> None:
    one, other = schedule_now(db), schedule_now(db)
    second = after(db, one, other)
    failed(db, one)
    end(db, replay(db, one))
    again = replay(db, second)
    assert waits_for(db, again) == [other]
    fail(db, other)
    db.execute("update pgsched.history set awaited = true where id = %s", [other])
    release(db)
    with refused("PS011", hint="replay that one first"):
        replay(db, second)
    end(db, replay(db, other))
    assert is_due(db, replay(db, second))


def test_a_skipped_dependent_is_not_replayed_before_its_predecessor(db: Connection) -> None:
    first = schedule_now(db)
    second = after(db, first)
    failed(db, first)
    with refused("PS011", hint="replay that one first"):
        replay(db, second)
    with refused("PS011", hint="only a failed execution"):
        call(db, "discard", id=second)


def test_an_execution_skipped_for_another_reason_is_not_replayed(db: Connection) -> None:
    id = schedule_now(db)
    finish(db, id, ended="skipped")
    with refused("PS011", hint="only a failed execution"):
        replay(db, id)
