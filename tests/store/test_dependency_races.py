"""Executions that wait for others, while ends, schedules and cancellations come at the same moment."""

import threading

import psycopg

from tests.store.dependency_arrange import after, is_due, release, waits_for
from tests.store.store_arrange import Connection, call, finish, schedule, status, wait_until_blocked


def test_its_end_waits_until_it_is_known_who_waits_for_it(db: Connection, store_url: str) -> None:
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


def test_two_ends_at_the_same_moment_release_it_once(db: Connection, store_url: str) -> None:
    first, second = schedule(db), schedule(db)
    last = after(db, first, second)
    finish(db, first)
    with psycopg.connect(store_url) as one:
        assert release(one) == 0
        finish(db, second)
        assert release(db) == 0  # the other has the row that waits in hand, and has not seen this end
        assert status(db, last) == "held"
        one.commit()
    assert release(db) == 1
    assert is_due(db, last)
    assert release(db) == 0


def test_a_release_passes_over_what_somebody_else_changes_just_now(db: Connection, store_url: str) -> None:
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


def test_of_two_that_close_a_circle_at_the_same_time_one_is_refused(db: Connection, store_url: str) -> None:
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
