"""Races between sessions that replay, discard or move the same dead letter."""

import threading
from uuid import UUID

import psycopg
import pytest

from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, replay, state
from tests.store.store_arrange import Connection, call, column, value, wait_until_blocked

pytestmark = pytest.mark.oldest_postgresql


def test_two_concurrent_replays_return_the_same_execution(db: Connection, store_url: str) -> None:
    id = dead_letter(db)
    answers: list[UUID] = []
    with psycopg.connect(store_url) as one, psycopg.connect(store_url, autocommit=True) as two:
        answers.append(replay(one, id))
        second = threading.Thread(target=lambda: answers.append(replay(two, id)))
        second.start()
        wait_until_blocked(db, two)
        one.commit()
        second.join()
    assert len(answers) == 2
    assert column(db, "select id from pgsched.executions") == [*set(answers)]


def test_a_replay_succeeds_after_a_concurrent_replay_rolls_back(db: Connection, store_url: str) -> None:
    id = dead_letter(db)
    answers: list[UUID] = []
    with psycopg.connect(store_url) as one, psycopg.connect(store_url, autocommit=True) as two:
        replay(one, id)
        second = threading.Thread(target=lambda: answers.append(replay(two, id)))
        second.start()
        wait_until_blocked(db, two)
        one.rollback()
        second.join()
    assert column(db, "select id from pgsched.executions") == answers
    assert len(answers) == 1


def test_a_concurrently_discarded_dead_letter_is_not_replayed(db: Connection, store_url: str) -> None:
    id = dead_letter(db)
    refusals: list[str | None] = []

    def second(session: Connection) -> None:
        try:
            replay(session, id)
        except psycopg.Error as error:
            refusals.append(error.sqlstate)

    with psycopg.connect(store_url) as one, psycopg.connect(store_url, autocommit=True) as two:
        call(one, "discard", id=id)
        replaying = threading.Thread(target=second, args=[two])
        replaying.start()
        wait_until_blocked(db, two)
        one.commit()
        replaying.join()
    assert refusals == ["PS011"]
    assert column(db, "select id from pgsched.executions") == []


def test_a_bulk_replay_retries_a_locked_dead_letter_later(db: Connection, store_url: str) -> None:
    id, other = dead_letter(db), dead_letter(db)
    many = bulk(db, "replay", {"client": "default"}, rate=1000)
    with psycopg.connect(store_url) as one:
        call(one, "discard", id=id)
        assert advance(db, many) == (1, False, False)
        assert state(db, other) == "replayed"
        assert "locked" in value(db, "select reason from pgsched.bulk_operations")
        assert advance(db, many) == (0, False, False)
        one.rollback()
    assert advance(db, many) == (1, False, True)
    assert (state(db, id), column(db, "select id from pgsched_internal.rows_to_come_back_to")) == ("replayed", [])


def test_locked_dead_letters_do_not_delay_the_rest_of_a_bulk_replay(db: Connection, store_url: str) -> None:
    mine = [dead_letter(db, client="mine") for _ in range(70)]
    theirs = [dead_letter(db, client="theirs") for _ in range(3)]
    many = bulk(db, "replay", {"status_code": 503}, rate=10000)
    with psycopg.connect(store_url) as one:
        for id in mine:
            call(one, "discard", id=id)
        while advance(db, many)[1]:
            pass
        assert {state(db, id) for id in theirs} == {"replayed"}
        assert {state(db, id) for id in mine} == {"open"}
        one.rollback()
    while not advance(db, many)[2]:
        pass
    assert {state(db, id) for id in mine} == {"replayed"}


def test_a_bulk_replay_skips_a_concurrently_replayed_dead_letter(db: Connection, store_url: str) -> None:
    id, other = dead_letter(db), dead_letter(db)
    many = bulk(db, "replay", {"client": "default"}, rate=1000)
    with psycopg.connect(store_url) as one:
        replay(one, id)
        assert advance(db, many) == (1, False, False)
        one.commit()
    assert advance(db, many) == (0, False, True)
    assert len(column(db, "select id from pgsched.executions")) == 2
    assert db.execute("select done, skipped from pgsched.bulk_operations").fetchall() == [(1, 1)]
    assert (state(db, id), state(db, other)) == ("replayed", "replayed")


def test_a_bulk_replay_is_advanced_by_one_worker_at_a_time(db: Connection, store_url: str) -> None:
    for _ in range(4):
        dead_letter(db)
    many = bulk(db, "replay", {"client": "default"}, rate=1000)
    with psycopg.connect(store_url) as one:
        assert advance(one, many, most=2) == (2, True, False)
        assert advance(db, many) == (0, False, False)
        one.commit()
    assert advance(db, many) == (2, False, True)
    assert len(column(db, "select id from pgsched.executions")) == 4


def test_a_replay_finds_a_dead_letter_concurrently_moved_out_of_its_day(db: Connection, store_url: str) -> None:
    id = dead_letter(db, ago="40 days")
    answers: list[UUID] = []
    with psycopg.connect(store_url) as one, psycopg.connect(store_url, autocommit=True) as two:
        assert value(one, "select pgsched_internal.keep_dead_letters(30, 1000)") == 1
        replaying = threading.Thread(target=lambda: answers.append(replay(two, id)))
        replaying.start()
        wait_until_blocked(db, two)
        one.commit()
        replaying.join()
    assert column(db, "select id from pgsched.executions") == answers
    assert state(db, id) == "replayed"
