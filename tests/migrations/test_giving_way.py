"""A migration that runs while other sessions use its tables waits for a reader, and no session waits for the
migration."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from pgsched.errors import Unavailable
from pgsched.store.admin import migrate as migrating
from pgsched.store.admin import schema_revisions
from pgsched.store.admin.migrate import migrate
from tests.replication.pair import until

_LATER = """
from pgsched.store.admin.upgrade_steps import run

revision = "pgsched_9999"
down_revision = schema_revisions.expected_revision()
serves_from = schema_revisions.expected_revision()


def upgrade() -> None:
    run("alter table pgsched.executions add column later text")
"""
_STANDS_IN_LINE = """
select from pg_locks l join pg_class c on c.oid = l.relation
 where not l.granted and l.mode = 'AccessExclusiveLock' and c.relname = %s"""
_HAS_IT = """
select from pg_attribute where attrelid = 'pgsched.executions'::regclass and attname = 'later'"""


@pytest.fixture
def a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This release's migrations and one more."""
    place = tmp_path / "migrations"
    shutil.copytree(schema_revisions.migrations_dir(), place)
    newest = repr(schema_revisions.expected_revision())
    (place / "versions" / "9999_later.py").write_text(_LATER.replace("schema_revisions.expected_revision()", newest))
    for module in (schema_revisions, migrating):
        monkeypatch.setattr(module, "migrations_dir", lambda: place)
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    schema_revisions.known_revisions.cache_clear()
    schema_revisions.expected_revision.cache_clear()


@pytest.mark.usefixtures("a_later_version")
@pytest.mark.parametrize("table", ["executions", "history"])
def test_a_migration_blocks_no_clients_while_it_waits_for_a_reader(database_url: str, table: str) -> None:
    with (
        psycopg.connect(database_url) as reader,
        psycopg.connect(database_url, autocommit=True, options="-c statement_timeout=5s") as client,
        ThreadPoolExecutor() as pool,
    ):
        reader.execute(f"select count(*) from pgsched.{table}".encode())
        done = pool.submit(migrate, database_url)
        for _ in range(3):
            until(lambda: client.execute(_STANDS_IN_LINE, [table]).rowcount)
            client.execute("select pgsched.schedule('python:settle')")
            client.execute("select count(*) from pgsched.history")
        assert not done.done()
        reader.commit()
        assert done.result(60) == []
        assert client.execute(_HAS_IT).rowcount == 1


@pytest.mark.usefixtures("a_later_version")
def test_a_migration_that_cannot_lock_its_tables_changes_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.store.admin.interface_replacement._AT_THE_MOST", 0.5)
    with psycopg.connect(database_url) as reader, psycopg.connect(database_url, autocommit=True) as client:
        reader.execute("select count(*) from pgsched.executions")
        with pytest.raises(Unavailable, match="executions"):
            migrate(database_url)
        assert client.execute(_HAS_IT).rowcount == 0
        client.execute("select pgsched.schedule('python:settle')")
