"""Which restored or copied databases, and which promoted standbys, are held for recovery."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pytest

from pgsched.embedded import EmbeddedPostgres, bundled_bin_dir
from pgsched.embedded.account import account_for
from pgsched.store.admin.migrate import migrate
from pgsched.store.core.sql import statement
from tests import conftest
from tests.replication.pair import Connection, until
from tests.replication.standby import Standby, copy_of

_CHECK_SAME_SERVER = "select why from pgsched_internal.check_same_server(%s)"
_SCHEDULE = "select pgsched.schedule('https://shop.example/settle', delay => '1 hour')"
_A_WHILE_AGO = "update pgsched_internal.fleet set seen_at = seen_at - interval '10 seconds'"
_HERE = "select pg_current_wal_insert_lsn()::text, txid_current()::text, clock_timestamp()::text"
_ARCHIVED = "select from pg_stat_archiver where last_archived_wal >= pg_walfile_name(%s::text::pg_lsn)"
_LONG_AGO = "update pgsched_internal.fleet set seen_at = seen_at - interval '2 hours'"
_LOST = """
insert into pgsched.workers (name, queues, release, expires_at)
values ('lost', '{default}', '0', now() - interval '2 hours')"""


def _held(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        return _check_same_server(connection)


def _check_same_server(connection: Connection, known: int | None = None) -> str:
    return (connection.execute(_CHECK_SAME_SERVER, [known]).fetchone() or ("",))[0] or ""


def _seen(connection: Connection) -> int:
    """Returns the renewal count known to a worker that has just checked in."""
    [(found,)] = connection.execute("select renewals from pgsched_internal.fleet").fetchall()
    return int(found)


def test_a_dump_restored_elsewhere_or_beside_the_original_is_held(servers: tuple[str, str]) -> None:
    original = _made(servers[0], "migrated")
    with psycopg.connect(original, autocommit=True) as connection:
        assert _check_same_server(connection) == ""
        connection.execute(_SCHEDULE)
    dumped = _programmed("pg_dump", "--dbname", original)
    roles = _programmed("pg_dumpall", "--roles-only", "--no-role-passwords", "--dbname", original)
    for server in servers:
        restored = _made(server, "template0")
        _programmed("psql", "--no-psqlrc", "--quiet", "--dbname", restored, given=roles)
        _programmed("psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", restored, given=dumped)
        migrate(restored)
        with psycopg.connect(restored) as connection:
            assert connection.execute(statement("doctor/drift")).fetchall() == []
        assert _held(restored).startswith("this database is a copy")
        with psycopg.connect(restored, autocommit=True) as connection:
            connection.execute("select pgsched.resume('installation')")
            assert _check_same_server(connection) == ""
    assert _held(original) == ""


def _made(server: str, template: str) -> str:
    name = f"restored_{token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name} template {template}".encode())
    return server.replace("/pgsched", f"/{name}")


def _programmed(program: str, *words: str, given: bytes = b"") -> bytes:
    ran = subprocess.run([bundled_bin_dir() / program, *words], input=given, check=True, capture_output=True)
    return ran.stdout


def test_a_copy_of_the_data_files_is_held_after_an_unclean_stop(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"shared_buffers": "64MB", "max_connections": "50"}
    with EmbeddedPostgres(tmp_path / "original", bin_dir=conftest.tested_bin_dir(), settings=settings) as original:
        migrate(original.url)
        with psycopg.connect(original.url, autocommit=True) as connection:
            assert _check_same_server(connection) == ""
            connection.execute(_SCHEDULE)
            connection.execute(_LONG_AGO)
            connection.execute(_LOST)
        with copy_of(original, tmp_path / "copy", conftest.tested_bin_dir()) as copy:
            assert "they had not shut down cleanly" in _held(copy)


def test_a_promoted_standby_is_held_only_if_recovered_to_an_earlier_point(standby: Standby) -> None:
    with psycopg.connect(standby.primary_url, autocommit=True) as connection:
        assert _check_same_server(connection) == ""
        connection.execute(_SCHEDULE)
    standby.take_over()
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("alter system reset synchronous_standby_names")
        connection.execute("select pg_reload_conf()")
        assert _check_same_server(connection) == ""
        assert connection.execute("select timeline from pgsched_internal.fleet").fetchone() == (2,)
        connection.execute("update pgsched_internal.fleet set timeline = 1, seen_at = now() - interval '1 hour'")
        assert "recovered to a point in the past" in _check_same_server(connection)


@dataclass(frozen=True, slots=True)
class Archived:
    """A server with executions and workers, and the directory of its archived log."""

    server: EmbeddedPostgres
    log: str

    def recovered(self, place: Path, *targets: str, meanwhile: str = "") -> AbstractContextManager[str]:
        """Runs a server recovered from a base backup. Its log includes the statement ``meanwhile``."""

        def archive() -> list[str]:
            with psycopg.connect(self.server.url, autocommit=True) as connection:
                connection.execute("select pg_create_restore_point('before')")
                [(lsn, xid, now)] = connection.execute(_HERE).fetchall()
                connection.execute(_SCHEDULE)
                connection.execute(meanwhile.encode() or b"select 1")
                connection.execute("select pg_switch_wal()")
                until(lambda: connection.execute(_ARCHIVED, [lsn]).rowcount)
            words = [target.format(lsn=lsn, xid=xid, now=now) for target in targets]
            return [f"restore_command=cp {self.log}/%f %p", "recovery_target_action=promote", *words]

        return copy_of(self.server, place, conftest.tested_bin_dir(), meanwhile=archive)


@pytest.fixture
def archived(tmp_path: Path) -> Iterator[Archived]:
    with TemporaryDirectory() as log:
        if account := account_for(tmp_path / "none"):
            account.give(Path(log))
        settings = {"shared_buffers": "64MB", "max_connections": "50", "archive_mode": "on", "wal_level": "replica"}
        settings |= {"archive_command": f"cp %p {log}/%f"}
        with EmbeddedPostgres(tmp_path / "original", bin_dir=conftest.tested_bin_dir(), settings=settings) as original:
            migrate(original.url)
            with psycopg.connect(original.url, autocommit=True) as connection:
                connection.execute(_SCHEDULE)
                assert _check_same_server(connection) == ""
            yield Archived(original, log)


@pytest.mark.parametrize(
    "target",
    [
        "recovery_target_time={now}",
        "recovery_target_name=before",
        "recovery_target_lsn={lsn}",
        "recovery_target_xid={xid}",
        "recovery_target=immediate",
        "recovery_target_timeline=latest",  # recovers to the end of the archive
    ],
)
def test_an_installation_recovered_from_a_recent_backup_is_held(
    archived: Archived, tmp_path: Path, target: str
) -> None:
    with archived.recovered(tmp_path / "copy", target) as copy, psycopg.connect(copy, autocommit=True) as connection:
        until(lambda: connection.execute("select where not pg_is_in_recovery()").rowcount)
        assert "the server was recovered from a backup" in _check_same_server(connection)


def test_a_worker_continues_if_a_recovery_lost_nothing_it_had_seen(archived: Archived, tmp_path: Path) -> None:
    with (
        archived.recovered(tmp_path / "copy", "recovery_target_timeline=latest") as copy,
        psycopg.connect(copy, autocommit=True) as connection,
    ):
        until(lambda: connection.execute("select where not pg_is_in_recovery()").rowcount)
        assert _check_same_server(connection, _seen(connection)) == ""


def test_a_base_backup_started_without_recovery_is_held(archived: Archived, tmp_path: Path) -> None:
    known: list[int] = []

    def work() -> list[str]:
        with psycopg.connect(archived.server.url, autocommit=True) as original:
            for _ in range(2):
                original.execute(_A_WHILE_AGO)
                assert _check_same_server(original) == ""
            known.append(_seen(original))
        return []

    with (
        copy_of(archived.server, tmp_path / "copy", conftest.tested_bin_dir(), meanwhile=work) as copy,
        psycopg.connect(copy, autocommit=True) as connection,
    ):
        assert "the database has gone back" in _check_same_server(connection, known[0])
        connection.execute("select pgsched.resume('installation')")
        assert _check_same_server(connection, known[0]) == ""


def test_a_dump_restored_into_the_same_database_is_held(servers: tuple[str, str]) -> None:
    here = _made(servers[1], "template0")
    migrate(here)
    with psycopg.connect(here, autocommit=True) as connection:
        connection.execute(_SCHEDULE)
        assert _check_same_server(connection) == ""
        dumped = _programmed("pg_dump", "--dbname", here)
        connection.execute("drop schema pgsched, pgsched_internal cascade")
        _programmed("psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", here, given=dumped)
        assert _check_same_server(connection).startswith("a dump has been restored here")
