"""Races between scheduling dependents, settling their predecessors, releasing and cancelling."""

import threading
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.store.ends.dependency_arrange import after, is_due, release, waits_for
from tests.store.store_arrange import (
    Connection,
    call,
    column,
    finish,
    lease,
    refused,
    schedule,
    status,
    value,
    wait_until_blocked,
)


def test_settling_waits_while_a_dependent_is_being_scheduled(db: Connection, store_url: str) -> None:
    first = schedule(db)
    with psycopg.connect(store_url) as scheduler, psycopg.connect(store_url, autocommit=True) as settler:
        last = after(scheduler, first)
        settle = (
            "with gone as (delete from pgsched.executions where id = %s returning *)"
            " insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition,"
            " attempt, client_id, target, awaited) select now(), fire_at, fire_at, created_at, id, 'succeeded',"
            " partition, 1, client_id, target, awaited from gone"
        )
        settling = threading.Thread(target=lambda: settler.execute(settle, [first]))
        settling.start()
        wait_until_blocked(db, settler)
        scheduler.commit()
        settling.join()
    assert release(db) == 1
    assert is_due(db, last)


def test_concurrent_release_turns_release_a_dependent_once(db: Connection, store_url: str) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, second)
    finish(db, first)
    with psycopg.connect(store_url) as one:
        assert release(one) == 0
        finish(db, second)
        assert release(db) == 0  # the other release has locked the dependent, and does not see this end
        assert status(db, last) == "held"
        one.commit()
    assert release(db) == 1
    assert is_due(db, last)
    assert release(db) == 0


def test_a_release_turn_skips_a_locked_dependent(db: Connection, store_url: str) -> None:
    first = schedule(db)
    last, other = after(db, first), after(db, first)
    finish(db, first)
    with psycopg.connect(store_url) as canceller:
        call(canceller, "cancel", id=last)
        assert release(db) == 1
        assert is_due(db, other)
        canceller.rollback()
    assert release(db) == 1
    assert is_due(db, last)


def test_a_dependency_cycle_formed_by_two_concurrent_calls_is_refused(db: Connection, store_url: str) -> None:
    first, second = schedule(db, key="a"), schedule(db, key="b")
    refusals: list[str | None] = []

    def cross(session: Connection) -> None:
        try:
            after(session, "a", key="b")
            session.commit()
        except psycopg.Error as error:
            refusals.append(error.sqlstate)

    with psycopg.connect(store_url) as one, psycopg.connect(store_url) as two:
        after(one, "b", key="a")
        crossing = threading.Thread(target=cross, args=[two])
        crossing.start()
        wait_until_blocked(db, two)
        one.commit()
        crossing.join()
    assert refusals == ["PS011"]
    assert waits_for(db, first) == [second]


def leased(db: Connection, **arguments: Any) -> UUID:
    id = schedule(db, **arguments)
    lease(db, id)
    return id


def free(session: Connection, id: UUID) -> bool:
    """Return whether an execution can be settled without waiting for a lock."""
    return column(session, "select id from pgsched.executions where id = %s for update skip locked", [id]) == [id]


def test_depending_on_a_running_execution_does_not_block_settling(db: Connection, store_url: str) -> None:
    running = leased(db)
    with psycopg.connect(store_url) as scheduler:
        last = after(scheduler, running)
        assert free(db, running)
        finish(db, running)
        assert release(db) == 0
        scheduler.commit()
    assert status(db, last) == "held"
    assert release(db) == 1
    assert is_due(db, last)


@pytest.mark.parametrize("ended", ["succeeded", "failed"])
def test_a_predecessor_may_end_right_after_its_dependent_is_scheduled(
    db: Connection, store_url: str, ended: str
) -> None:
    running = leased(db)
    with psycopg.connect(store_url) as scheduler:
        last = after(scheduler, running)
        scheduler.commit()
    finish(db, running, ended=ended)
    assert release(db) == 1
    assert status(db, last) == ("scheduled" if ended == "succeeded" else "skipped")


def test_a_release_turn_marks_a_running_predecessor_as_awaited(db: Connection) -> None:
    running = leased(db)
    last = after(db, running)
    assert release(db) == 0
    assert value(db, "select awaited from pgsched.executions where id = %s", [running])
    assert column(db, "select after_id from pgsched_internal.ends_to_mark") == []
    finish(db, running)
    assert release(db) == 1
    assert is_due(db, last)


def test_a_release_turn_does_not_wait_for_an_uncommitted_end(db: Connection, store_url: str) -> None:
    running = leased(db)
    last = after(db, running)
    with psycopg.connect(store_url) as settler:
        finish(settler, running)
        assert release(db) == 0
        settler.commit()
    assert release(db) == 1
    assert is_due(db, last)


def test_a_new_dependent_locks_a_running_predecessor_that_keeps_no_history(db: Connection, store_url: str) -> None:
    db.execute("insert into pgsched.clients (client_id, keep) values ('quiet', 'nothing')")
    running = leased(db, client="quiet")
    with psycopg.connect(store_url) as scheduler:
        after(scheduler, running, client="quiet")
        assert not free(db, running)


def test_a_cycle_through_a_formerly_running_predecessor_is_refused(db: Connection) -> None:
    running = leased(db, key="r")
    waiting = after(db, running, key="w")
    db.execute("update pgsched.executions set lease_token = null, lease_expires_at = null, fire_at = 'infinity'"
               " where id = %s", [running])  # fmt: skip
    with refused("PS011"):
        call(db, "pgsched_internal.wait_for", execution_id=running, after_id=waiting)
