"""Dependents and predecessors that are cancelled, moved, or scheduled again under their keys."""

from uuid import UUID

import pytest

from tests.store.ends.dependency_arrange import after, end, is_due, release, waits_for
from tests.store.store_arrange import (
    Connection,
    call,
    column,
    finish,
    heard,
    lease,
    listening,
    refused,
    schedule,
    status,
)


def test_cancelling_a_dependent_deletes_its_dependencies(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    assert call(db, "cancel", id=last)
    assert column(db, "select 1 from pgsched.dependencies") == []
    end(db, first)
    assert status(db, last) == "cancelled"


def test_cancelling_a_predecessor_skips_the_dependent(db: Connection, store_url: str) -> None:
    first = schedule(db)
    last = after(db, first)
    with listening(store_url) as listener:
        call(db, "cancel", id=first)
        assert heard(listener, db) == ["release"]
    assert release(db) == 1
    assert status(db, last) == "skipped"


def test_rescheduling_a_dependent_drops_its_dependencies(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    call(db, "edit", id=last, changes={"fire_at": "2090-01-01T00:00:00Z"})
    assert waits_for(db, last) == []
    end(db, first, "failed")
    assert status(db, last) == "scheduled"


def test_replacing_a_dependent_replaces_its_dependencies(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, key="k")
    assert after(db, second, key="k") == last
    assert waits_for(db, last) == [second]
    assert schedule(db, key="k") == last
    assert waits_for(db, last) == []
    assert status(db, last) == "scheduled"


def test_with_on_conflict_keep_a_dependent_keeps_its_dependencies(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, key="k", on_conflict="keep")
    assert after(db, second, key="k", on_conflict="keep") == last
    assert waits_for(db, last) == [first]


def test_with_on_conflict_keep_a_waiting_execution_gets_no_dependency(db: Connection) -> None:
    first = schedule(db)
    kept = schedule(db, key="k", fire_at="2090-01-01Z")
    assert after(db, first, key="k", on_conflict="keep", fire_at="2090-01-01Z") == kept
    assert status(db, kept) == "scheduled"


def test_with_on_conflict_reject_a_dependent_with_a_taken_key_is_refused(db: Connection) -> None:
    first = schedule(db, key="k")
    with refused("PS011"):
        after(db, first, key="k", on_conflict="reject")


@pytest.mark.parametrize("ended", [True, False])
def test_a_running_or_succeeded_execution_gets_no_new_dependency(db: Connection, ended: bool) -> None:
    first, taken = schedule(db), schedule(db, key="k")
    if ended:
        finish(db, taken)
    else:
        lease(db, taken)
    assert after(db, first, key="k") == taken
    assert waits_for(db, taken) == []


def test_a_replaced_predecessor_still_releases_its_dependents(db: Connection) -> None:
    first = schedule(db, key="k")
    last = after(db, "k")
    assert schedule(db, key="k") == first
    end(db, first)
    assert is_due(db, last)


def test_a_dependency_cycle_is_refused(db: Connection) -> None:
    other = schedule(db)
    first = after(db, other, key="first")
    second = after(db, "first", key="second")
    with refused("PS011", hint='remove one of the two from the list "after" of the other'):
        after(db, "second", key="first")
    with refused("PS011"):
        after(db, "first", key="first")
    assert waits_for(db, first) == [other]
    assert waits_for(db, second) == [first]


def test_scheduling_a_dependency_chain_again_changes_nothing(db: Connection) -> None:
    def chain() -> list[UUID]:
        return [schedule(db, key="a"), after(db, "a", key="b"), after(db, "b", key="c")]

    first = chain()
    assert chain() == first
    assert [waits_for(db, id) for id in first[1:]] == [[first[0]], [first[1]]]
