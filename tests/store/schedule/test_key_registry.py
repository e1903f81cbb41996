"""A key belongs to one live execution in one partition, or to one job, however it was created."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.client import schedule_many
from pgsched.errors import Conflict
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.retention import Retention
from tests.store.admin.queue_arrange import queue, session
from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, replay
from tests.store.store_arrange import (
    TARGET,
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

INSERT = (
    "insert into pgsched.executions (target, fire_at, client_id, key, ordering_key, partition)"
    " select %s, now(), 'default', key, ordering_key, pgsched.partition_for('default', 'default', key, ordering_key)"
    " from (values {}) as v(key, ordering_key) returning id"
)
INSERT_JOB = "insert into pgsched.jobs (key, target, every) values (%s, 'python:report', '1 hour') returning id"


def insert(db: Connection, *rows: tuple[str, str | None]) -> list[UUID]:
    """Direct inserts in one statement, each row with a key and an ordering key."""
    values = ", ".join(["(%s, %s::text)"] * len(rows))
    return column(db, INSERT.format(values), [TARGET, *(item for row in rows for item in row)])


@pytest.mark.parametrize("undone", [False, True])
def test_scheduling_a_key_waits_for_another_sessions_uncommitted_row(
    db: Connection, store_url: str, undone: bool
) -> None:
    made: list[UUID] = []
    with (
        session(store_url) as other,
        session(store_url) as watcher,
        ThreadPoolExecutor() as threads,
    ):
        with db.transaction(force_rollback=undone):
            made.append(schedule(db, key="k", ordering_key="a"))
            late = threads.submit(lambda: schedule(other, key="k", ordering_key="b"))
            wait_until_blocked(watcher, other)
        made.append(late.result(20))
    assert made[0] != made[1]
    assert column(db, "select id from pgsched.executions") == made[1:]


def test_a_one_shot_cannot_take_a_jobs_key(db: Connection) -> None:
    job = schedule(db, key="k", every="1 hour")
    for on_conflict in ("replace", "keep", "reject", "debounce"):
        with refused("PS011", hint="another key"):
            schedule(db, key="k", on_conflict=on_conflict)
    with pytest.raises(psycopg.Error, match=f"taken by job {job}"):
        schedule(db, key="k")
    assert counts(db) == (0, 1, 0)


@pytest.mark.parametrize("runs", [False, True])
def test_a_job_cannot_take_a_one_shots_key(db: Connection, runs: bool) -> None:
    id = schedule(db, key="k")
    if runs:
        lease(db, id)
    for on_conflict in ("replace", "keep", "reject"):
        with refused("PS011", hint="another key"):
            schedule(db, key="k", every="1 hour", on_conflict=on_conflict)
    with pytest.raises(psycopg.Error, match=f"taken by execution {id}"):
        schedule(db, key="k", every="1 hour")
    assert counts(db) == (1, 0, 0)


def test_cancelling_a_job_or_one_shot_frees_its_key_for_either_kind(db: Connection) -> None:
    call(db, "cancel", id=schedule(db, key="k", every="1 hour"))
    one_shot = schedule(db, key="k")
    assert call(db, "cancel", client="default", key="k") is True
    assert status(db, one_shot) == "cancelled"
    job = schedule(db, key="k", every="1 hour")
    assert call(db, "cancel", client="default", key="k") is True
    assert row(db, "select id, state::text from pgsched.jobs order by created_at desc limit 1") == (job, "cancelled")


def test_a_job_can_take_an_ended_executions_key(db: Connection) -> None:
    finish(db, schedule(db, key="k"))
    job = schedule(db, key="k", every="1 hour")
    assert schedule(db, key="k", every="2 hours") == job
    assert call(db, "cancel", client="default", key="k") is True
    assert column(db, "select state::text from pgsched.jobs") == ["cancelled"]


def test_cancelling_a_debounced_key_cancels_only_the_waiting_execution(db: Connection) -> None:
    running = schedule(db, key="k")
    lease(db, running)
    following = schedule(db, key="k", on_conflict="debounce")
    assert call(db, "cancel", client="default", key="k") is True
    assert (status(db, running), status(db, following)) == ("running", "cancelled")


def test_cancelling_by_key_waits_for_an_uncommitted_schedule_call(db: Connection, store_url: str) -> None:
    schedule(db, key="k", ordering_key="a")
    with session(store_url) as other, session(store_url) as watcher, ThreadPoolExecutor() as threads:
        with db.transaction():
            moved = schedule(db, key="k", ordering_key="b")
            late = threads.submit(lambda: call(other, "cancel", client="default", key="k"))
            wait_until_blocked(watcher, other)
        assert late.result(20) is True
    assert status(db, moved) == "cancelled"


def test_deleting_a_row_by_hand_frees_its_key(db: Connection) -> None:
    first = schedule(db, key="k")
    db.execute("delete from pgsched.executions")
    assert schedule(db, key="k") != first


@pytest.mark.parametrize("ordering_key", [None, "another"])
def test_an_inserted_row_reserves_its_key(db: Connection, ordering_key: str | None) -> None:
    [id] = insert(db, ("k", None))
    with refused("PS011", hint="pgsched.schedule"):
        insert(db, ("k", ordering_key))
    assert schedule(db, key="k", on_conflict="keep") == id
    assert schedule(db, key="k", ordering_key="a third") != id
    assert counts(db) == (1, 0, 1)


def test_an_insert_cannot_take_a_jobs_or_one_shots_key(db: Connection) -> None:
    schedule(db, key="job", every="1 hour")
    schedule(db, key="one-shot")
    with refused("PS011", hint="leave that row out"):
        insert(db, ("job", None))
    with refused("PS011", hint="leave that row out"):
        db.execute(INSERT_JOB, ["one-shot"])
    with refused("PS011", hint="cancel the job"):
        schedule(db, key=value(db, INSERT_JOB.replace("returning id", "returning key"), ["inserted"]))


def test_an_insert_with_a_duplicate_key_is_refused(db: Connection) -> None:
    with refused("PS011", hint="leave that row out"):
        insert(db, ("a", None), ("k", "x"), ("k", "y"))
    assert counts(db) == (0, 0, 0)


def test_inserted_rows_can_take_ended_executions_keys(db: Connection) -> None:
    for key in ("a", "b", "c"):
        finish(db, schedule(db, key=key))
    assert len(insert(db, ("a", None), ("b", "x"), ("c", None), ("d", None))) == 4
    assert column(db, "select key from pgsched.executions order by 1") == ["a", "b", "c", "d"]


def test_a_rolled_back_insert_leaves_its_keys_free(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        insert(db, ("k", None))
        db.execute(INSERT_JOB, ["job"])
    schedule(db, key="k", every="1 hour")
    schedule(db, key="job")
    assert counts(db) == (1, 1, 0)


def test_schedule_many_reports_the_taken_key(db: Connection) -> None:
    schedule(db, key="k", ordering_key="a")
    with pytest.raises(Conflict, match="'k'"):
        schedule_many(db, [{"target": TARGET, "key": key} for key in ("j", "k", "l")])
    assert counts(db) == (1, 0, 0)


def test_a_replay_takes_the_dead_letters_key(db: Connection) -> None:
    letter = dead_letter(db, key="k")
    id = replay(db, letter)
    assert schedule(db, key="k", on_conflict="keep") == id
    assert schedule(db, key="k", ordering_key="another") != id
    assert column(db, "select status::text from pgsched.status where id = %s", [id]) == ["cancelled"]


def test_a_replay_whose_key_a_job_has_taken_is_refused(db: Connection) -> None:
    letter = dead_letter(db, key="k")
    schedule(db, key="k", every="1 hour")
    with refused("PS011"):
        replay(db, letter)
    assert counts(db)[0] == 0


def tidy(db: Connection) -> list[str]:
    """Tidy as upkeep does, as if every key had been noted a day ago, and return the remaining keys."""
    db.execute("update pgsched_internal.keys set look_at = now()")
    db.execute("select pgsched_internal.tidy_keys(1000)")
    return column(db, "select key from pgsched_internal.keys order by 1")


def test_tidying_keys_removes_only_unused_keys(db: Connection) -> None:
    for key in ("waits", "runs", "ended", "ended long ago", "gone"):
        schedule(db, key=key)
    for key in ("job", "cancelled"):
        schedule(db, key=key, every="1 hour")
    call(db, "cancel", client="default", key="cancelled")
    ids: dict[str, UUID] = dict(db.execute("select key, id from pgsched.executions").fetchall())
    lease(db, ids["runs"])
    finish(db, ids["ended"], ago="23 hours")
    finish(db, ids["ended long ago"], ago="25 hours")
    db.execute("delete from pgsched.executions where key = 'gone'")
    assert tidy(db) == ["ended", "job", "runs", "waits"]
    assert value(db, "select count(*) from pgsched_internal.keys where look_at <= now()") == 0


def test_tidying_keys_skips_locked_keys(db: Connection, store_url: str) -> None:
    finish(db, schedule(db, key="k"), ago="25 hours")
    db.execute("update pgsched_internal.keys set look_at = now()")
    with session(store_url) as other, other.transaction():
        other.execute("select from pgsched_internal.keys for update")
        db.execute("set lock_timeout = '1s'")
        assert value(db, "select pgsched_internal.tidy_keys(1000)") == 0
    assert tidy(db) == []


def test_a_tidied_key_is_still_found_in_history_during_key_retention(db: Connection) -> None:
    id = schedule(db, key="k")
    finish(db, id, ago="3 days")
    assert tidy(db) == []
    db.execute("set pgsched.key_retention = '7 days'")
    assert schedule(db, key="k") == id
    assert schedule(db, key="k", ordering_key="o") == id
    db.execute("set pgsched.key_retention = '2 days'")
    assert schedule(db, key="k") != id


@pytest.fixture
def with_queues(database_url: str) -> Iterator[Connection]:
    with session(database_url) as connection:
        queue(connection, "orders")
        yield connection


def test_scheduling_a_key_in_another_queue_leaves_one_live_row(with_queues: Connection) -> None:
    db = with_queues
    first = schedule(db, key="k", queue="orders")
    second = schedule(db, key="k")
    assert (status(db, first), status(db, second)) == ("cancelled", "scheduled")
    lease(db, second)
    assert schedule(db, key="k", queue="orders") == second
    assert column(db, "select id from pgsched.executions") == [second]


def outcome(db: Connection, **arguments: Any) -> tuple[Any, ...]:
    """The id, the outcome and whether there is an instant."""
    given = {"target": TARGET, "key": "k", "on_conflict": "replace", **arguments}
    names = ", ".join(f"{name} => %({name})s" for name in given)
    query = f"select id, outcome, fire_at is not null from pgsched.schedule_outcome({names})"
    return row(db, query.encode(), given)


def test_the_outcome_of_scheduling_is_created_replaced_existing_or_ended(db: Connection) -> None:
    id, *first = outcome(db)
    assert first == ["created", True]
    assert outcome(db) == (id, "replaced", True)
    assert outcome(db, on_conflict="debounce") == (id, "replaced", True)
    assert outcome(db, on_conflict="keep") == (id, "existing", True)
    lease(db, id)
    assert outcome(db) == (id, "existing", False)
    assert outcome(db, on_conflict="keep") == (id, "existing", False)
    finish(db, id)
    assert outcome(db) == (id, "ended", False)
    assert outcome(db, on_conflict="debounce")[1:] == ("created", True)


def test_scheduling_without_a_key_always_creates_a_row(db: Connection) -> None:
    first, second = outcome(db, key=None), outcome(db, key=None)
    assert (first[1:], second[1:]) == (("created", True), ("created", True))
    assert first[0] != second[0]


def test_rescheduling_to_another_ordering_key_counts_as_replaced(db: Connection) -> None:
    id, *_ = outcome(db, ordering_key="a")
    moved, *rest = outcome(db, ordering_key="b")
    assert moved != id
    assert rest == ["replaced", True]


def test_the_outcome_of_scheduling_a_job_is_created_replaced_or_existing(db: Connection) -> None:
    id, *first = outcome(db, every="1 hour")
    assert first == ["created", False]
    assert outcome(db, every="2 hours") == (id, "replaced", False)
    assert outcome(db, every="3 hours", on_conflict="keep") == (id, "existing", False)


def test_the_outcome_of_scheduling_a_dependent_has_no_instant(db: Connection) -> None:
    before = schedule(db)
    assert outcome(db, after=[str(before)])[1:] == ("created", False)
    assert outcome(db, after=[str(before)])[1:] == ("replaced", False)


@pytest.mark.parametrize("ended", ["failed", "expired", "cancelled", "skipped"])
@pytest.mark.parametrize("on_conflict", ["replace", "keep", "reject"])
def test_an_unsuccessful_executions_key_is_free_immediately(db: Connection, ended: str, on_conflict: str) -> None:
    id = schedule(db, key="k")
    finish(db, id, ended=ended)
    again, *rest = outcome(db, on_conflict=on_conflict)
    assert again != id
    assert rest == ["created", True]


def test_scheduling_a_key_returns_a_success_that_followed_a_failure(db: Connection) -> None:
    finish(db, schedule(db, key="k"), ended="failed", ago="2 hours")
    id = schedule(db, key="k")
    finish(db, id, ago="1 hour")
    assert outcome(db) == (id, "ended", False)


async def test_a_retention_turn_tidies_keys_in_batches(db: Connection, store_url: str) -> None:
    for n in range(5):
        finish(db, schedule(db, key=f"ended-{n}"), ago="25 hours")
    waits = schedule(db, key="waits")
    db.execute("update pgsched_internal.keys set look_at = now()")
    link, events = Link(store_url, "chores", raw=False), Events()
    await Retention(link, events, batch=2).turn()
    await link.drop()
    assert column(db, "select id from pgsched_internal.keys") == [waits]


def test_a_bulk_replay_skips_a_key_taken_in_an_open_transaction(db: Connection, store_url: str) -> None:
    dead_letter(db, key="open", client="shop")
    dead_letter(db, key="free", client="shop")
    asked = bulk(db, "replay", {"client": "shop"}, rate=1000)
    with session(store_url) as other, other.transaction():
        schedule(other, key="open", client="shop", ordering_key="o")
        assert advance(db, asked) == (1, False, False)
    assert advance(db, asked) == (0, False, True)
    assert column(db, "select key from pgsched.executions order by key") == ["free", "open"]
