"""Warnings about the lock table: its size, and logins that can fill it."""

from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.core.lock_capacity import public_revokes
from tests import conftest
from tests.cli.conftest import Run
from tests.conftest import at
from tests.docs.fences import blocks

_SMALL = {"max_connections": "20", "max_locks_per_transaction": "64", "fsync": "off", "shared_buffers": "16MB"}


def test_the_warning_about_a_small_lock_table_names_the_setting(run: Run, tmp_path: Path) -> None:
    with EmbeddedPostgres(tmp_path / "small", bin_dir=conftest.tested_bin_dir(), settings=_SMALL) as server:
        for words in (["migrate"], ["queues", "create", "orders"]):
            result = run(*words, env=at(server.url))
            assert result.exit_code == 0, result.output
            assert "set max_locks_per_transaction = " in result.stderr


def test_the_migrate_command_warns_if_any_login_can_fill_the_lock_table(run: Run, database_url: str) -> None:
    result = run("migrate", env=at(database_url))
    assert result.exit_code == 0
    [said] = result.stderr.splitlines()
    assert "any login can fill the server's lock table or its disk" in said
    assert "docs/how-to/deploy.md" in said


def test_the_migrate_command_does_not_warn_after_the_documented_revokes(run: Run, empty_database_url: str) -> None:
    [taking] = [block for block in blocks("sql") if "revoke execute on function" in block.text]
    with psycopg.connect(empty_database_url, autocommit=True) as db:
        db.execute(taking.text.encode())
    result = run("migrate", env=at(empty_database_url))
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_guide_and_the_script_revoke_the_same_rights(database_url: str) -> None:
    [taking] = [block.text for block in blocks("sql") if "revoke execute on function" in block.text]
    open_to_all = (
        "select count(*) from pg_proc p where p.pronamespace = 'pg_catalog'::regnamespace"
        " and has_function_privilege('public', p.oid, 'execute')"
    )
    left = []
    for script in (taking, public_revokes()):
        with psycopg.connect(database_url) as db:
            before = db.execute(open_to_all).fetchone() or (0,)
            db.execute(script.encode())
            for call in _FILLING:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    _as_reader(db, call)
            after = db.execute(open_to_all).fetchone() or (0,)
            left.append(before[0] - after[0])
            db.rollback()
    assert left[0] == left[1] > 20


def _as_reader(db: psycopg.Connection[Any], call: str) -> None:
    with db.transaction():
        db.execute("set local role pgsched_reader")
        db.execute(call.encode())


_FILLING = (
    "select pg_logical_emit_message(false, 'x', 'y')",
    "select pg_logical_emit_message(true, 'x', 'y'::bytea)",
    "select pg_export_snapshot()",
    "select pg_partition_tree('pgsched.executions')",
    "select table_to_xmlschema('pgsched.jobs', true, true, '')",
    "select table_to_xml_and_xmlschema('pgsched.jobs', true, true, '')",
    "select pg_try_advisory_xact_lock_shared(1, 2)",
    "select lo_creat(0)",
)
