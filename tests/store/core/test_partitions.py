"""The database and Python agree on the partitions of a queue."""

import pytest

from pgsched.domain.queue_partitions import PARTITIONS_PER_QUEUE, first_of, partitions_of
from tests.store.store_arrange import Connection, call, column, value

pytestmark = pytest.mark.oldest_postgresql


def test_the_database_and_python_have_the_same_number_of_partitions(db: Connection) -> None:
    assert value(db, "select pgsched_internal.partitions_per_queue()") == PARTITIONS_PER_QUEUE
    drawn = (
        "insert into pgsched.executions (target, fire_at) select 'python:settle', 'infinity'"
        " from generate_series(1, 1000) returning partition"
    )
    assert set(column(db, drawn)) == set(partitions_of(0))


def test_keys_are_spread_over_all_partitions_of_a_queue(db: Connection) -> None:
    slots = (
        "select distinct pgsched_internal.slot_for('shop', n::text, null) from generate_series(1, 1000) n order by 1"
    )
    assert column(db, slots) == list(partitions_of(0))


def test_a_new_queues_partitions_are_consecutive(db: Connection) -> None:
    call(db, "create_queue", name="orders")
    first = value(db, "select first_partition from pgsched.queues where name = 'orders'")
    assert first == first_of(first) == PARTITIONS_PER_QUEUE
    tables = (
        "select substring(relid::text from '[0-9]+$')::int from pg_partition_tree('pgsched.executions') where isleaf"
    )
    assert sorted(column(db, tables)) == [*partitions_of(0), *partitions_of(first)]


def test_rows_without_a_key_are_spread_over_all_partitions(db: Connection) -> None:
    drawn = "select distinct pgsched.partition_for('default', 'shop') from generate_series(1, 1000) order by 1"
    assert column(db, drawn) == list(partitions_of(0))
