"""Notifications of new rows: one per statement, and only for rows due before the workers' next poll."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.store.store_arrange import TARGET, Connection, call, heard, listening, schedule, value

pytestmark = pytest.mark.oldest_postgresql


def partition_of(db: Connection) -> int:
    return int(value(db, "select partition from pgsched.executions"))


@pytest.fixture(autouse=True)
def unwatched(db: Connection) -> None:
    """Clear an earlier test's watch, which stays valid for a moment after it ends."""
    db.execute("select setval('pgsched_internal.watch_0', 1)")


def test_a_row_due_soon_sends_a_notification_with_partition_and_instant(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        schedule(db, delay="1 second")
        [payload] = heard(listener, db)
    instant = value(db, "select (extract(epoch from fire_at) * 1000000)::bigint from pgsched.executions")
    assert payload == f"{partition_of(db)}@{instant}"


def test_a_row_due_later_sends_no_notification(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        schedule(db, delay="10 seconds")
        schedule(db, delay="10 seconds", key="k")
        assert heard(listener, db) == []


def test_a_multi_row_insert_sends_one_notification(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        db.execute(
            "insert into pgsched.executions (target, fire_at, partition)"
            " select %s, now() - n * interval '1 second', n %% 4 from generate_series(0, 99) n",
            [TARGET],
        )
        [payload] = heard(listener, db)
    notified = dict(part.split("@") for part in payload.split(","))
    earliest: dict[str, str] = dict(
        db.execute(
            "select partition::text, min((extract(epoch from fire_at) * 1000000)::bigint)::text"
            " from pgsched.executions group by partition"
        ).fetchall()
    )
    assert notified == earliest
    assert set(notified) == {"0", "1", "2", "3"}


def test_a_multi_row_insert_notifies_only_of_rows_due_soon(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        db.execute(
            "insert into pgsched.executions (target, fire_at, partition)"
            " values (%(t)s, now(), 3), (%(t)s, now() + interval '1 hour', 5)",
            {"t": TARGET},
        )
        [payload] = heard(listener, db)
    assert payload.startswith("3@")
    assert "," not in payload


def test_a_rollback_notifies_nobody(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        with db.transaction(force_rollback=True):
            schedule(db, delay="0")
        assert heard(listener, db) == []


@pytest.mark.parametrize("key", [None, "k"])
def test_setting_pgsched_notify_to_off_silences_a_session(db: Connection, store_url: str, key: str | None) -> None:
    with listening(store_url) as listener:
        db.execute("set pgsched.notify = off")
        id = schedule(db, delay="0", key=key)
        call(db, "edit", id=id, changes={"fire_at": "2020-01-01T00:00:00Z"})
        assert heard(listener, db) == []


def test_rescheduling_a_key_to_an_earlier_instant_sends_a_notification(db: Connection, store_url: str) -> None:
    schedule(db, key="k", delay="1 hour")
    with listening(store_url) as listener:
        schedule(db, key="k", delay="0")
        [payload] = heard(listener, db)
    assert payload.startswith(f"{partition_of(db)}@")


def test_rescheduling_an_execution_to_now_sends_a_notification(db: Connection, store_url: str) -> None:
    id = schedule(db, delay="1 hour")
    with listening(store_url) as listener:
        call(db, "edit", id=id, changes={"fire_at": "2020-01-01T00:00:00Z"})
        [payload] = heard(listener, db)
    assert payload.startswith(f"{partition_of(db)}@")


def test_rescheduling_an_execution_to_later_sends_no_notification(db: Connection, store_url: str) -> None:
    id = schedule(db, delay="1 hour")
    with listening(store_url) as listener:
        call(db, "edit", id=id, changes={"fire_at": "2040-01-01T00:00:00Z"})
        assert heard(listener, db) == []


@contextmanager
def watching(url: str, queue_number: int) -> Iterator[None]:
    """Watch a queue, as an often woken worker does, which polls all partitions by itself."""
    with psycopg.connect(url, autocommit=True) as watcher:
        watcher.execute("select pgsched_internal.take_watch(%s, 1)", [queue_number])
        yield
        watcher.execute("select pgsched_internal.leave_watch(%s, 1)", [queue_number])


def test_rows_in_a_watched_queue_send_no_notifications(db: Connection, store_url: str) -> None:
    id = schedule(db, delay="1 hour")
    with listening(store_url) as listener, watching(store_url, 0):
        schedule(db, delay="0")
        schedule(db, delay="0", key="k")
        schedule(db, delay="0", key="k")
        call(db, "edit", id=id, changes={"fire_at": "2020-01-01T00:00:00Z"})
        db.execute("insert into pgsched.executions (target, fire_at) values (%s, now())", [TARGET])
        with db.cursor().copy("copy pgsched.executions (target, fire_at) from stdin") as copy:
            copy.write_row([TARGET, "2020-01-01Z"])
        assert heard(listener, db) == []


def test_a_row_sends_a_notification_although_another_queue_is_watched(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener, watching(store_url, 1):
        schedule(db, delay="0")
        assert len(heard(listener, db)) == 1


def test_notifications_resume_after_a_watch_ends(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        with watching(store_url, 0):
            schedule(db, delay="0")
        schedule(db, delay="0")
        assert len(heard(listener, db)) == 1


def test_an_outsiders_advisory_lock_does_not_make_a_queue_watched(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener, psycopg.connect(store_url, autocommit=True) as outsider:
        outsider.execute("select pg_advisory_lock(1885631331, -1)")
        outsider.execute("select pg_advisory_lock((1885631331::bigint << 32) | 4294967295)")
        schedule(db, delay="0")
        assert len(heard(listener, db)) == 1


def test_a_lost_workers_watch_does_not_suppress_notifications(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        value(db, "select pgsched_internal.take_watch(0, 1)")
        past, far = ("(extract(epoch from clock_timestamp()) * 1000)::bigint " + by for by in ("- 1", "+ 3600000"))
        for until in (past, far):  # an hour ahead: the clock was set back
            value(db, f"select setval('pgsched_internal.watch_0', (({until}) << 22) | 1)")
            schedule(db, delay="0")
            assert len(heard(listener, db)) == 1


def test_a_watched_queue_cannot_be_watched_by_another_worker(db: Connection) -> None:
    assert value(db, "select pgsched_internal.take_watch(0, 1)")
    assert not value(db, "select pgsched_internal.take_watch(0, 2)")
    value(db, "select pgsched_internal.leave_watch(0, 2)")
    assert value(db, "select pgsched_internal.is_watched(0) and pgsched_internal.take_watch(0, 1)")
    value(db, "select pgsched_internal.leave_watch(0, 1)")
    assert value(db, "select pgsched_internal.take_watch(0, 2)")


def test_a_new_or_edited_job_wakes_a_planner(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        schedule(db, every="1 hour", key="hourly")
        assert heard(listener, db) == ["plan"]
        schedule(db, every="2 hours", key="hourly")
        assert set(heard(listener, db)) == {"plan"}


def test_a_resumed_job_wakes_a_planner(db: Connection, store_url: str) -> None:
    job = schedule(db, every="1 hour")
    call(db, "pause", kind="job", name=str(job))
    with listening(store_url) as listener:
        call(db, "resume", kind="job", name=str(job))
        assert heard(listener, db) == ["plan"]


def test_triggering_a_job_notifies_workers(db: Connection, store_url: str) -> None:
    job = schedule(db, every="1 hour")
    with listening(store_url) as listener:
        call(db, "trigger", job_id=job)
        [payload] = heard(listener, db)
    assert payload.startswith(f"{partition_of(db)}@")


def test_notifications_for_hundreds_of_partitions_fit_the_message_limit(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as db, listening(database_url) as listener:
        with db.transaction(), db.pipeline():  # separate transactions would take longer with each partition
            for n in range(16, 448):
                db.execute(
                    f"create table pgsched_internal.executions_{n} partition of pgsched.executions for values in ({n})"
                )
        db.execute(
            "insert into pgsched.executions (target, fire_at, partition) select %s, now(), n from"
            " generate_series(0, 447) n",
            [TARGET],
        )
        notified = [part for payload in heard(listener, db) for part in payload.split(",")]
    assert sorted(int(part.split("@")[0]) for part in notified) == list(range(448))
