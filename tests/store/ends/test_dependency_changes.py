"""Executions that wait for others, cancelled, moved, and scheduled again under their keys."""

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


def test_cancelling_it_forgets_what_it_waited_for(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    assert call(db, "cancel", id=last)
    assert column(db, "select 1 from pgsched.dependencies") == []
    end(db, first)
    assert status(db, last) == "cancelled"


def test_cancelling_the_one_before_has_it_skipped(db: Connection, store_url: str) -> None:
    first = schedule(db)
    last = after(db, first)
    with listening(store_url) as listener:
        call(db, "cancel", id=first)
        assert heard(listener, db) == ["release"]
    assert release(db) == 1
    assert status(db, last) == "skipped"


def test_rescheduled_it_waits_for_nobody(db: Connection) -> None:
    first = schedule(db)
    last = after(db, first)
    call(db, "edit", id=last, changes={"fire_at": "2090-01-01T00:00:00Z"})
    assert waits_for(db, last) == []
    end(db, first, "failed")
    assert status(db, last) == "scheduled"


def test_replaced_under_its_key_it_waits_for_what_the_last_call_named(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, key="k")
    assert after(db, second, key="k") == last
    assert waits_for(db, last) == [second]
    assert schedule(db, key="k") == last
    assert waits_for(db, last) == []
    assert status(db, last) == "scheduled"


def test_kept_under_its_key_it_waits_for_what_the_first_call_named(db: Connection) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, key="k", on_conflict="keep")
    assert after(db, second, key="k", on_conflict="keep") == last
    assert waits_for(db, last) == [first]


def test_a_key_that_is_kept_is_not_held(db: Connection) -> None:
    first = schedule(db)
    kept = schedule(db, key="k", fire_at="2090-01-01Z")
    assert after(db, first, key="k", on_conflict="keep", fire_at="2090-01-01Z") == kept
    assert status(db, kept) == "scheduled"


def test_a_key_that_is_taken_refuses_it_where_it_says_so(db: Connection) -> None:
    first = schedule(db, key="k")
    with refused("PS011"):
        after(db, first, key="k", on_conflict="reject")


@pytest.mark.parametrize("ended", [True, False])
def test_a_key_that_runs_or_has_succeeded_answers_for_itself(db: Connection, ended: bool) -> None:
    first, taken = schedule(db), schedule(db, key="k")
    if ended:
        finish(db, taken)
    else:
        lease(db, taken)
    assert after(db, first, key="k") == taken
    assert waits_for(db, taken) == []


def test_replacing_the_one_before_leaves_who_waits_for_it(db: Connection) -> None:
    first = schedule(db, key="k")
    last = after(db, "k")
    assert schedule(db, key="k") == first
    end(db, first)
    assert is_due(db, last)


def test_two_do_not_wait_for_each_other(db: Connection) -> None:
    other = schedule(db)
    first = after(db, other, key="first")
    second = after(db, "first", key="second")
    with refused("PS011", hint="leave one of the two out"):
        after(db, "second", key="first")
    with refused("PS011"):
        after(db, "first", key="first")
    assert waits_for(db, first) == [other]
    assert waits_for(db, second) == [first]


def test_a_chain_can_be_scheduled_again_as_it_is(db: Connection) -> None:
    def chain() -> list[UUID]:
        return [schedule(db, key="a"), after(db, "a", key="b"), after(db, "b", key="c")]

    first = chain()
    assert chain() == first
    assert [waits_for(db, id) for id in first[1:]] == [[first[0]], [first[1]]]
