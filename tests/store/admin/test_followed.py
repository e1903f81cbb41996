"""Replication: each table has a primary key, and replicated rows create and drop tables on the subscriber.

tests/replication has a real subscriber; these tests write rows as a subscriber applies them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.store.store_arrange import Connection, column, value

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

KEYLESS = """
select c.oid::regclass::text from pg_class c
 where c.relnamespace in ('pgsched'::regnamespace, 'pgsched_internal'::regnamespace) and c.relkind in ('r', 'p')
   and not (c.relreplident = 'd' and exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary))"""
DAYS = """
select c.relname from pg_class c
 where c.relname ~ '^(history|attempts)_209[0-9]{5}$' and c.relkind = 'r' and c.relispartition = %s order by 1"""
ADD = "insert into pgsched_internal.days values (%s)"
END = "delete from pgsched_internal.days where name = %s"
OLD_ROW = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt,
                             client_id, target)
select at, at, at, at, pgsched_internal.new_id(), 'succeeded', 0, 1, 'default', 'python:x'
  from (values (%s::timestamptz)) v(at)"""


@pytest.fixture
def applying(db: Connection) -> Iterator[Connection]:
    """A session that applies rows as a subscription does. The fixture drops the tables that the session creates."""
    db.execute("set session_replication_role = replica")
    yield db
    db.execute("delete from pgsched_internal.days; delete from pgsched.queues where name <> 'default'")
    for name in column(db, DAYS, [True]) + column(db, DAYS, [False]):
        db.execute(f"drop table pgsched_internal.{name}".encode())


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Holds open a transaction that has read history."""
    with psycopg.connect(url) as reader:
        reader.execute("select count(*) from pgsched.history")
        yield


def test_every_table_has_a_primary_key_even_a_new_queue_or_day_partition(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        db.execute("select pgsched.create_queue('orders')")
        for parent in ("history", "attempts"):
            assert value(db, "select pgsched_internal.make_day(%s, '2095-01-01')", [parent])
            assert value(db, "select pgsched_internal.attach_day(%s, '2095-01-01')", [parent])
        assert column(db, KEYLESS) == []


def test_creating_a_day_partition_is_replicated_to_the_subscriber(applying: Connection) -> None:
    applying.execute(ADD, ["history_20950101"])
    assert column(applying, DAYS, [True]) == ["history_20950101"]


def test_dropping_a_day_partition_is_replicated_to_the_subscriber(applying: Connection) -> None:
    applying.execute(ADD, ["history_20950101"])
    applying.execute(ADD, ["attempts_20950101"])
    applying.execute(END, ["history_20950101"])
    assert column(applying, DAYS, [True]) == ["attempts_20950101"]


def test_a_day_partition_replicated_during_a_read_is_attached_later(applying: Connection, store_url: str) -> None:
    with reading(store_url):
        applying.execute(ADD, ["history_20950101"])
        assert column(applying, DAYS, [False]) == ["history_20950101"]
    applying.execute(ADD, ["history_20950102"])
    assert column(applying, DAYS, [True]) == ["history_20950101", "history_20950102"]


def test_dropping_a_day_partition_during_a_read_is_replicated_later(applying: Connection, store_url: str) -> None:
    applying.execute(ADD, ["history_20950101"])
    applying.execute(ADD, ["history_20950102"])
    with reading(store_url):
        applying.execute(END, ["history_20950101"])
        assert len(column(applying, DAYS, [True])) == 2
    applying.execute(END, ["history_20950102"])
    assert column(applying, DAYS, [True]) == []


def test_dropping_a_day_deletes_its_rows_in_the_default_partition(applying: Connection, store_url: str) -> None:
    with reading(store_url):
        applying.execute(ADD, ["history_20950101"])
        applying.execute(OLD_ROW, ["2095-01-01 12:00+00"])
        applying.execute(OLD_ROW, ["2095-01-02 12:00+00"])
    applying.execute(ADD, ["history_20950103"])
    assert column(applying, DAYS, [True]) == ["history_20950103"]
    applying.execute(END, ["history_20950101"])
    assert column(applying, DAYS, [False]) == []
    assert value(applying, "select count(*) from pgsched.history") == 1


def test_a_replicated_queues_tables_are_created_and_dropped(applying: Connection) -> None:
    applying.execute("insert into pgsched.queues (name, first_partition) values ('orders', 64)")
    tables = "select count(*) from pg_inherits where inhparent = 'pgsched.executions'::regclass"
    assert value(applying, tables) == 32
    assert value(applying, "select to_regclass('pgsched_internal.watch_4') is not null")
    applying.execute("delete from pgsched.queues where name = 'orders'")
    assert value(applying, tables) == 16
    assert value(applying, "select to_regclass('pgsched_internal.watch_4') is null")


def test_a_queue_the_publisher_drops_during_a_read_is_dropped_later(applying: Connection, store_url: str) -> None:
    applying.execute("insert into pgsched.queues (name, first_partition) values ('orders', 80)")
    with psycopg.connect(store_url) as reader:
        reader.execute("select count(*) from pgsched.executions")
        applying.execute("delete from pgsched.queues where name = 'orders'")
    applying.execute("insert into pgsched.queues (name, first_partition) values ('orders', 80)")
    applying.execute("delete from pgsched.queues where name = 'orders'")
    assert value(applying, "select to_regclass('pgsched_internal.executions_80') is null")


def test_rows_written_locally_create_no_tables(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        db.execute(ADD, ["history_20950101"])
        db.execute("insert into pgsched.queues (name, first_partition) values ('orders', 96)")
        assert value(db, "select to_regclass('pgsched_internal.history_20950101') is null")
        assert value(db, "select to_regclass('pgsched_internal.executions_96') is null")


def test_sequences_advance_past_replicated_ids(db: Connection) -> None:
    with db.transaction(force_rollback=True):
        ids = "insert into pgsched.audit_log (actor, action) values ('ann', 'pause') returning id"
        first = value(db, ids)
        db.execute("insert into pgsched.audit_log (id, actor, action) values (%s, 'ann', 'pause')", [first + 100])
        db.execute("select pgsched_internal.advance_sequences()")
        assert value(db, ids) == first + 101
        db.execute("delete from pgsched.audit_log")
        db.execute("select pgsched_internal.advance_sequences()")
        assert value(db, ids) == first + 102
