"""Queues: creation and removal during operation, settings, pausing, and the limit on waiting executions."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from pgsched.client import schedule_many
from pgsched.errors import QueueFull
from tests.store.admin.queue_arrange import fill, queue, session
from tests.store.bulk.bulk_arrange import advance, bulk
from tests.store.ends.dead_letter_arrange import dead_letter, replay, state
from tests.store.store_arrange import (
    TARGET,
    Connection,
    acting,
    call,
    column,
    heard,
    listening,
    login_role,
    planned,
    refused,
    row,
    schedule,
    value,
    wait_until_blocked,
)

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

PARTITIONS = "select partition::int from pgsched.executions order by 1"


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    with session(database_url) as connection:
        yield connection


def test_a_new_queue_has_sixteen_partitions(db: Connection) -> None:
    assert (queue(db, "orders"), queue(db, "mail")) == (16, 32)
    for _ in range(20):
        schedule(db, queue="orders")
    assert {16 <= partition < 32 for partition in column(db, PARTITIONS)} == {True}


def test_a_new_queues_tables_match_the_default_queues_tables(db: Connection) -> None:
    queue(db, "orders")
    like = """
      select c.reloptions, array(select x::text from unnest(c.relacl) x order by 1),
             array(select regexp_replace(pg_get_indexdef(i.indexrelid), '_[0-9]+', '_n', 'g') from pg_index i
                    where i.indrelid = c.oid order by 1),
             array(select pg_get_constraintdef(k.oid) from pg_constraint k
                    where k.conrelid = c.oid and k.contype <> 'n' order by 1),
             array(select a.attname || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || a.attnotnull from pg_attribute a
                     left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
                    where a.attrelid = c.oid and a.attnum > 0 order by a.attnum)
        from pg_class c where c.oid = %s::regclass"""
    model = row(db, like, ["pgsched_internal.executions_0"])
    assert {str(row(db, like, [f"pgsched_internal.executions_{n}"])) for n in range(16, 32)} == {str(model)}


def test_creating_a_queue_and_scheduling_do_not_block_each_other(db: Connection, database_url: str) -> None:
    with session(database_url) as writer, session(database_url) as maker, writer.transaction():
        schedule(writer)
        with maker.transaction():
            queue(maker, "orders")
            schedule(db)
    assert value(db, "select count(*) from pgsched.executions") == 2


def test_executions_jobs_and_batches_go_to_the_given_queues_partitions(db: Connection) -> None:
    first = queue(db, "orders")
    schedule(db, queue="orders", key="k", ordering_key="o")
    planned(db, schedule(db, queue="orders", every="1 hour"))
    db.execute(
        "insert into pgsched.executions (target, fire_at, key, partition)"
        " values (%s, now(), 'x', pgsched.partition_for('orders', 'default', 'x'))",
        [TARGET],
    )
    assert len(schedule_many(db, [{"target": TARGET, "queue": "orders"}] * 10)) == 10
    found = column(db, PARTITIONS)
    assert len(found) == 13
    assert {first <= partition < first + 16 for partition in found} == {True}


def test_create_queue_stores_the_given_settings(db: Connection) -> None:
    queue(db, "orders", weight=3, max_waiting=100, options={"timeout": "5s"})
    made = row(db, "select weight, max_waiting, options, paused_at from pgsched.queues where name = 'orders'")
    assert made == (3, 100, {"timeout": "5s"}, None)


@pytest.mark.parametrize("name", ["", "Orders", "1st", "two words", "x" * 64, "a;b", None])
def test_an_invalid_queue_name_is_refused(db: Connection, name: str | None) -> None:
    with refused("PS000", hint="for example orders"):
        call(db, "create_queue", name=name)


def test_creating_an_existing_queue_is_refused(db: Connection) -> None:
    queue(db, "orders")
    with refused("PS011", hint="set_queue"):
        queue(db, "orders")
    with refused("PS011"):
        queue(db, "default")


@pytest.mark.parametrize(
    ("state", "hint", "changes"),
    [
        ("PS000", "weight", 5),
        ("PS000", "options, weight, max_waiting", {"name": "other"}),
        ("PS000", "options, weight, max_waiting", {"full_since": None}),
        ("PS000", "1 to 100", {"weight": 101}),
        ("PS000", "pause it", {"max_waiting": 0}),
        ("PS000", "100000000", {"max_waiting": 1e9}),
        ("PS000", "100000000", {"max_waiting": "10"}),
        ("PS004", "each execution", {"options": {"on_success": "python:told"}}),
        ("PS004", "PT5S", {"options": {"timeout": 5}}),
    ],
)
def test_invalid_settings_are_refused_and_nothing_changes(db: Connection, state: str, hint: str, changes: Any) -> None:
    with refused(state, hint=hint):
        call(db, "set_queue", name="default", changes=Jsonb(changes))
    with refused(state, hint=hint):
        call(db, "create_queue", name="orders", changes=Jsonb(changes))
    assert row(db, "select name, weight, max_waiting, options from pgsched.queues") == ("default", 1, None, None)
    assert value(db, "select to_regclass('pgsched_internal.executions_16')") is None


def test_set_queue_changes_only_the_given_settings(db: Connection) -> None:
    call(db, "set_queue", name="default", changes={"weight": 3, "max_waiting": 10})
    assert call(db, "set_queue", name="default", changes={"options": {"timeout": "5s"}}) is True
    assert call(db, "set_queue", name="default", changes={"weight": None}) is True
    assert call(db, "set_queue", name="default", changes={"weight": 1}) is False
    assert row(db, "select weight, max_waiting, options from pgsched.queues") == (1, 10, {"timeout": "5s"})


@pytest.mark.parametrize("function", ["set_queue", "drop_queue", "pause", "resume"])
def test_an_unknown_queue_is_not_found(db: Connection, function: str) -> None:
    more: dict[str, Any] = {"set_queue": {"changes": Jsonb({})}, "drop_queue": {}}.get(function, {"kind": "queue"})
    with refused("PS010", hint="pgsched.queues"):
        call(db, function, name="nowhere", **more)


def test_pausing_a_queue_stores_a_reason_until_the_queue_is_resumed(db: Connection, database_url: str) -> None:
    with listening(database_url) as listener:
        assert call(db, "pause", kind="queue", name="default", note="maintenance") is True
        assert "queues" in heard(listener, db)
    assert call(db, "pause", kind="queue", name="default") is False
    assert row(db, "select paused_at is not null, reason from pgsched.queues") == (True, "maintenance")
    assert call(db, "resume", kind="queue", name="default") is True
    assert call(db, "resume", kind="queue", name="default") is False
    assert row(db, "select paused_at, reason from pgsched.queues") == (None, None)
    assert column(db, "select action from pgsched.audit_log order by id") == ["pause", "resume"]


def test_a_dropped_queues_partition_numbers_are_never_reused(db: Connection) -> None:
    queue(db, "orders")
    id = schedule(db, queue="orders")
    call(db, "cancel", id=id)
    call(db, "drop_queue", name="orders")
    assert value(db, "select to_regclass('pgsched_internal.executions_16')") is None
    assert queue(db, "mail") == 32
    assert column(db, "select queue from pgsched.status") == [None]


def test_dropping_a_queue_drops_its_limit(db: Connection) -> None:
    queue(db, "orders")
    call(db, "set_limit", kind="queue", name="orders", rate=1)
    call(db, "drop_queue", name="orders", actor="ann")
    assert column(db, "select name from pgsched_internal.gates") == []
    assert column(db, "select action from pgsched.audit_log where actor = 'ann' order by id") == [
        "drop queue",
        "drop limit",
    ]


def test_a_dropped_queues_dead_letter_cannot_be_replayed(db: Connection) -> None:
    queue(db, "orders")
    id = dead_letter(db, queue="orders", key="k")
    call(db, "drop_queue", name="orders")
    with refused("PS011", hint="schedule it again"):
        replay(db, id)
    many = bulk(db, "replay", {"key": "k"})
    assert advance(db, many) == (0, False, True)
    assert row(db, "select failed, state from pgsched.bulk_operations") == (1, "finished")
    assert state(db, id) == "open"


@pytest.mark.parametrize(("pulled", "target", "other"), [(True, "queue:", TARGET), (False, TARGET, "queue:")])
def test_replay_refuses_a_target_that_the_queue_does_not_accept(
    db: Connection, pulled: bool, target: str, other: str
) -> None:
    queue(db, "orders", pulled=pulled)
    id = dead_letter(db, queue="orders", target=target)
    with refused("PS001", hint="queue"):
        replay(db, id, target=other)
    assert replay(db, id) != id


def test_a_limit_on_a_pulled_queue_is_refused(db: Connection) -> None:
    queue(db, "orders", pulled=True)
    with refused("PS011", hint="claim smaller batches"):
        call(db, "set_limit", kind="queue", name="orders", rate=1)
    assert column(db, "select name from pgsched_internal.gates") == []


def test_a_queue_with_waiting_or_running_executions_is_not_dropped(db: Connection) -> None:
    queue(db, "orders")
    for _ in range(3):
        schedule(db, queue="orders")
    db.execute(
        "update pgsched.executions set lease_token = 1, lease_owner = 1"
        " where id = (select id from pgsched.executions limit 1)"
    )
    with pytest.raises(psycopg.Error, match="executions waiting or running: 3"):
        call(db, "drop_queue", name="orders")


def test_a_queue_is_not_dropped_until_its_jobs_are_cancelled(db: Connection) -> None:
    queue(db, "orders")
    job = schedule(db, queue="orders", every="1 hour")
    with refused("PS011", hint="pgsched.edit"):
        call(db, "drop_queue", name="orders")
    call(db, "cancel", id=job)
    call(db, "drop_queue", name="orders")
    assert column(db, "select queue from pgsched.jobs") == ["default"]


def test_the_default_queue_cannot_be_dropped(db: Connection) -> None:
    with refused("PS011", hint="pause it"):
        call(db, "drop_queue", name="default")


def test_dropping_a_queue_under_repeatable_read_is_refused(db: Connection) -> None:
    queue(db, "orders")
    with refused("PS011", hint="read committed"), db.transaction():
        db.execute("set transaction isolation level repeatable read")
        call(db, "drop_queue", name="orders")


def test_dropping_a_queue_fails_if_an_open_transaction_scheduled_into_it(db: Connection, database_url: str) -> None:
    queue(db, "orders")
    with session(database_url) as writer, session(database_url) as dropper:
        with writer.transaction():
            schedule(writer, queue="orders")
            dropper.execute("set statement_timeout = '60s'")
            failed: list[psycopg.Error] = []

            def drop() -> None:
                try:
                    call(dropper, "drop_queue", name="orders")
                except psycopg.Error as error:
                    failed.append(error)

            thread = threading.Thread(target=drop)
            thread.start()
            wait_until_blocked(db, dropper)
        thread.join()
    assert [error.sqlstate for error in failed] == ["PS011"]
    assert value(db, "select count(*) from pgsched.executions") == 1


def test_a_client_may_not_create_or_drop_queues(db: Connection, database_url: str) -> None:
    role = login_role(db, "pgsched_client")
    with acting(database_url, role) as client:
        for function in ("create_queue", "drop_queue"):
            with refused("42501"):
                call(client, function, name="default")
        assert column(client, "select name from pgsched.queues") == ["default"]
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def one_by_one(db: Connection) -> None:
    schedule(db)


def keyed(db: Connection) -> None:
    schedule(db, key="new")


def held(db: Connection) -> None:
    schedule(db, after=["k"])


def plain(db: Connection) -> None:
    db.execute("insert into pgsched.executions (target, fire_at) select %s, now() from generate_series(1, 3)", [TARGET])


def copied(db: Connection) -> None:
    with db.cursor().copy("copy pgsched.executions (target, fire_at, partition) from stdin") as copy:
        copy.write_row((TARGET, "2040-01-01Z", 3))


def silent(db: Connection) -> None:
    with db.transaction():
        db.execute("set local pgsched.notify = off")
        plain(db)


@pytest.mark.parametrize("way", [one_by_one, keyed, held, plain, copied, silent])
def test_scheduling_into_a_full_queue_is_refused(db: Connection, way: Any) -> None:
    schedule(db, key="k")
    fill(db, "default")
    with refused("PS014", hint="max_waiting"):
        way(db)
    assert value(db, "select count(*) from pgsched.executions") == 1


def test_schedule_many_into_a_full_queue_is_refused(db: Connection) -> None:
    fill(db, "default")
    with pytest.raises(QueueFull, match="is full"):
        schedule_many(db, [{"target": TARGET}] * 3)
    assert column(db, PARTITIONS) == []


def test_scheduling_works_in_one_queue_while_another_queue_is_full(db: Connection) -> None:
    queue(db, "orders")
    fill(db, "default")
    schedule(db, queue="orders")
    plain_into_orders = "insert into pgsched.executions (target, fire_at, partition) values (%s, now(), 17)"
    db.execute(plain_into_orders, [TARGET])
    assert value(db, "select count(*) from pgsched.executions") == 2


def test_scheduling_a_key_again_in_a_full_queue_replaces_its_execution(db: Connection) -> None:
    id = schedule(db, key="k")
    fill(db, "default")
    assert schedule(db, key="k", payload={"n": 2}) == id


def test_jobs_are_still_planned_and_triggered_in_a_full_queue(db: Connection) -> None:
    fill(db, "default")
    job = schedule(db, every="1 hour")
    planned(db, job)
    call(db, "trigger", job_id=job)
    assert value(db, "select count(*) from pgsched.executions") == 2


def test_a_full_queue_accepts_outcome_notifications(db: Connection) -> None:
    fill(db, "default")
    db.execute(
        "select pgsched_internal.tell_outcome(jsonb_populate_record(null::pgsched.executions, jsonb_build_object("
        " 'fire_at', now(), 'client_id', 'default', 'target', 'python:x', 'partition', 3,"
        " 'options', '{\"on_success\": \"python:told\"}'::jsonb)), 'succeeded', null, null, null)"
    )
    assert column(db, "select target from pgsched.executions") == ["python:told"]
    with refused("PS014"):
        schedule(db)


def test_a_client_cannot_bypass_max_waiting_limits_with_pgsched_unbounded(db: Connection, database_url: str) -> None:
    role = login_role(db, "pgsched_client")
    db.execute("insert into pgsched.clients (client_id, database_role) values ('payments', %s)", [role])
    fill(db, "default")
    with acting(database_url, role) as client:
        client.execute("set pgsched.unbounded = on")
        with refused("PS014"):
            schedule(client, client="payments")
    db.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_a_full_queue_reopens_if_its_limit_is_removed_but_not_if_raised(db: Connection) -> None:
    db.execute("update pgsched.queues set max_waiting = 10, full_since = now()")
    call(db, "set_queue", name="default", changes={"max_waiting": 20})
    assert value(db, "select full_since from pgsched.queues") is not None
    call(db, "set_queue", name="default", changes={"max_waiting": None})
    assert value(db, "select full_since from pgsched.queues") is None


@pytest.mark.parametrize(("notify", "unbounded"), [("told", "off"), ("off", "on"), ("told", "on")])
@pytest.mark.parametrize("way", [one_by_one, keyed, held, plain])
def test_a_client_cannot_bypass_max_waiting_limits_with_session_settings(
    db: Connection, database_url: str, way: Any, notify: str, unbounded: str
) -> None:
    schedule(db, key="k")
    fill(db, "default")
    db.execute("create role a_client; grant pgsched_client to a_client")
    db.execute("update pgsched.clients set database_role = 'a_client' where client_id = 'default'")
    try:
        with session(database_url) as theirs:
            theirs.execute("set role a_client")
            theirs.execute(f"set pgsched.notify = {notify}; set pgsched.unbounded = {unbounded}".encode())
            with refused("PS014", hint="max_waiting"):
                way(theirs)
    finally:
        db.execute("update pgsched.clients set database_role = null; drop role a_client")


def test_a_bulk_replay_waits_while_the_queue_is_full(db: Connection) -> None:
    letters = [dead_letter(db) for _ in range(3)]
    id = bulk(db, "replay", {"client": "default"}, rate=100)
    fill(db, "default")
    assert advance(db, id) == (0, False, False)
    found = "select state, done, skipped, reason from pgsched.bulk_operations"
    assert row(db, found) == ("active", 0, 0, "waits: the queue of the next execution is full")
    db.execute("update pgsched.queues set full_since = null")
    assert advance(db, id) == (3, False, True)
    assert row(db, found) == ("finished", 3, 0, None)
    assert {state(db, letter) for letter in letters} == {"replayed"}
