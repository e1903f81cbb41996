"""schema.sql is the result of the migrations, so that reviews show schema changes.

To rewrite it: PGSCHED_WRITE_SCHEMA=1 pytest tests/migrations/test_schema.py
"""

import os
from pathlib import Path

import psycopg
import pytest

from pgsched.store.admin.migrate import migrate, migration_sql
from tests.migrations.schema_catalog import dump

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

GOLDEN = Path(__file__).with_name("schema.sql")
HEADER = (
    "-- The schema, from the catalogs. To rewrite it:\n"
    "-- PGSCHED_WRITE_SCHEMA=1 pytest tests/migrations/test_schema.py\n\n"
)


def test_a_new_database_has_the_recorded_schema(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        found = HEADER + dump(connection)
    if os.environ.get("PGSCHED_WRITE_SCHEMA"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found.splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_migrating_twice_changes_nothing(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        before = dump(connection)
        connection.execute("select pgsched.schedule('python:settle', every => '1 hour', key => 'hourly')")
        migrate(database_url)
        assert dump(connection) == before
        assert connection.execute("select key from pgsched.jobs").fetchall() == [("hourly",)]


def test_migrating_keeps_queues_unchanged(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("select pgsched.create_queue('orders', '{\"weight\": 3, \"max_waiting\": 10}')")
        connection.execute("select pgsched.schedule('python:settle', delay => '1 hour', queue => 'orders')")
        before = dump(connection)
        migrate(database_url)
        assert dump(connection) == before
        waiting = (
            "select weight, max_waiting, pgsched_internal.count_live(name, 10)"
            " from pgsched.queues where name = 'orders'"
        )
        assert connection.execute(waiting).fetchall() == [(3, 10, 1)]


def test_the_printed_migration_creates_the_same_schema_as_migrate(database_url: str, empty_database_url: str) -> None:
    with (
        psycopg.connect(database_url) as migrated,
        psycopg.connect(empty_database_url, autocommit=True) as by_hand,
    ):
        by_hand.execute(migration_sql().encode())
        assert dump(by_hand) == dump(migrated)
        bodies = (
            "select oid::regprocedure::text, prosrc from pg_proc where pronamespace::regnamespace::text like 'pgsched%'"
        )
        assert set(by_hand.execute(bodies)) == set(migrated.execute(bodies))
