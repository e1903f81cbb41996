"""Commands that make tables say where the server has too little room for the locks of those who read them."""

from pathlib import Path

import psycopg

from pgsched.embedded import EmbeddedPostgres
from tests import conftest
from tests.cli.conftest import Run
from tests.conftest import at
from tests.docs.fences import blocks

_SMALL = {"max_connections": "20", "max_locks_per_transaction": "64", "fsync": "off", "shared_buffers": "16MB"}


def test_a_server_with_little_room_for_locks_is_told_what_to_set(run: Run, tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "small", bin_dir=conftest.tested_bin_dir(), settings=_SMALL) as server:
        for words in (["migrate"], ["queues", "create", "orders"]):
            result = run(*words, env=at(server.url))
            assert result.exit_code == 0, result.output
            assert "set max_locks_per_transaction = " in result.stderr


def test_where_any_login_may_fill_the_table_of_locks_it_is_said_where_to_read(run: Run, database_url: str) -> None:
    result = run("migrate", env=at(database_url))
    assert result.exit_code == 0
    [said] = result.stderr.splitlines()
    assert "any login can fill the server's table of locks" in said
    assert "docs/how-to/deploy.md" in said


def test_where_that_was_taken_away_as_documented_nothing_is_said(run: Run, empty_database_url: str) -> None:
    [taking] = [block for block in blocks("sql") if "pg_advisory_lock(bigint)" in block.text]
    with psycopg.connect(empty_database_url, autocommit=True) as db:
        db.execute(taking.text.encode())
    result = run("migrate", env=at(empty_database_url))
    assert (result.exit_code, result.stderr) == (0, "")
