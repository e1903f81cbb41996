"""Databases that were restored or copied for real, and a standby that took over: which of them are held."""

import subprocess
from pathlib import Path
from secrets import token_hex
from typing import Any

import psycopg

from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.store.admin.migrate import migrate
from tests import conftest
from tests.replication.pair import Connection
from tests.replication.standby import Standby, copy_of

_CHECK_IN = "select pgsched_internal.check_in()"
_SCHEDULE = "select pgsched.schedule('https://shop.example/settle', delay => '1 hour')"
_LONG_AGO = "update pgsched_internal.fleet set seen_at = seen_at - interval '2 hours'"
_LOST = """
insert into pgsched.workers (name, queues, release, expires_at)
values ('lost', '{default}', '0', now() - interval '2 hours')"""


def _held(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        return _check_in(connection)


def _check_in(connection: Connection) -> str:
    return (connection.execute(_CHECK_IN).fetchone() or ("",))[0] or ""


def test_a_dump_that_is_restored_on_another_server_or_beside_the_original_is_held(servers: tuple[str, str]) -> None:
    original = _made(servers[0], "migrated")
    with psycopg.connect(original, autocommit=True) as connection:
        assert _check_in(connection) == ""
        connection.execute(_SCHEDULE)
    dumped = _programmed("pg_dump", "--dbname", original)
    roles = _programmed("pg_dumpall", "--roles-only", "--no-role-passwords", "--dbname", original)
    for server in servers:
        restored = _made(server, "template0")
        _programmed("psql", "--no-psqlrc", "--quiet", "--dbname", restored, given=roles)
        _programmed("psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", restored, given=dumped)
        migrate(restored)
        assert _held(restored).startswith("this is a copy")
        with psycopg.connect(restored, autocommit=True) as connection:
            connection.execute("select pgsched.release_installation()")
            assert _check_in(connection) == ""
    assert _held(original) == ""


def _made(server: str, template: str) -> str:
    name = f"restored_{token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
    return server.replace("/pgsched", f"/{name}")


def _programmed(program: str, *words: str, given: bytes = b"") -> bytes:
    ran = subprocess.run([bundled_bin_dir() / program, *words], input=given, check=True, capture_output=True)
    return ran.stdout


def test_a_copy_of_the_files_is_held_where_workers_had_not_stopped(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"shared_buffers": "64MB", "max_connections": "50"}
    with EmbeddedPostgres(tmp_path / "original", bin_dir=conftest.tested_bin_dir(), settings=settings) as original:
        migrate(original.url)
        with psycopg.connect(original.url, autocommit=True) as connection:
            assert _check_in(connection) == ""
            connection.execute(_SCHEDULE)
            connection.execute(_LONG_AGO)
            connection.execute(_LOST)
        with copy_of(original, tmp_path / "copy", conftest.tested_bin_dir()) as copy:
            assert "they had not stopped in order" in _held(copy)


def test_a_standby_that_takes_over_goes_on_by_itself_and_one_of_the_past_is_held(standby: Standby) -> None:
    with psycopg.connect(standby.primary_url, autocommit=True) as connection:
        assert _check_in(connection) == ""
        connection.execute(_SCHEDULE)
    standby.take_over()
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("alter system reset synchronous_standby_names")
        connection.execute("select pg_reload_conf()")
        assert _check_in(connection) == ""
        assert connection.execute("select timeline from pgsched_internal.fleet").fetchone() == (2,)
        connection.execute("update pgsched_internal.fleet set timeline = 1, seen_at = now() - interval '1 hour'")
        assert "recovered to a point in the past" in _check_in(connection)
