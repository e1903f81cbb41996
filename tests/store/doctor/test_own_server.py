"""Findings that cannot be arranged on a shared server: failing archiving, lost slots and statement statistics."""

from pathlib import Path

import psycopg

from pgsched.embedded import EmbeddedPostgres
from pgsched.store.admin.migrate import migrate
from tests import conftest
from tests.conftest import Connection
from tests.store.doctor.doctor_arrange import look

_SETTINGS = {
    "fsync": "off",
    "shared_buffers": "32MB",
    "wal_level": "logical",
    "archive_mode": "on",
    "archive_command": "false",
    "max_slot_wal_keep_size": "1MB",
    "shared_preload_libraries": "pg_stat_statements",
}


async def test_archiving_failures_bad_slots_and_slow_statements_are_reported(tmp_path: Path) -> None:
    bin_dir = conftest.tested_bin_dir()
    with EmbeddedPostgres(tmp_path / "server", bin_dir=bin_dir, settings=_SETTINGS) as server:
        migrate(server.url)
        with psycopg.connect(server.url, autocommit=True) as own:
            await _check_the_log(own, server.url)
            await _check_a_logical_slot(own, server.url)
            await _check_statistics(own, server.url)


async def _check_the_log(own: Connection, url: str) -> None:
    own.execute("select pg_create_physical_replication_slot('lost', true)")
    for _ in range(3):
        own.execute("select pg_logical_emit_message(false, 'fill', 'x'), pg_switch_wal()")
    own.execute("checkpoint")
    while not own.execute("select true from pg_stat_archiver where failed_count > 0").fetchone():
        pass
    lost, unarchived = await look(url, "write-ahead log")
    own.execute("select pg_drop_replication_slot('lost')")
    own.execute("alter system set archive_command = 'true'")  # else the server tries again before it stops
    own.execute("select pg_reload_conf()")
    assert lost.seen == "the replication slot lost has lost the log that it needs"
    assert "archiving the write-ahead log file" in unarchived.seen
    assert {lost.severity, unarchived.severity} == {"warning"}


async def _check_a_logical_slot(own: Connection, url: str) -> None:
    own.execute("select pg_create_logical_replication_slot('unread', 'test_decoding')")
    [found] = [one for one in await look(url, "horizon", transactions=0) if "slot" in one.seen]
    own.execute("select pg_drop_replication_slot('unread')")
    assert found.seen.startswith("the replication slot unread holds a snapshot")
    assert "pg_drop_replication_slot('unread')" in found.do


async def _check_statistics(own: Connection, url: str) -> None:
    assert await look(url, "slow statements") == []
    own.execute("create schema watched; create extension pg_stat_statements schema watched")
    for _ in range(10):
        own.execute("select count(*) from pgsched.executions")
    found = [one for one in await look(url, "slow statements", mean=0.0) if "from pgsched.executions" in one.seen]
    assert [one.severity for one in found] == ["note"]
    assert "on average over 10 calls" in found[0].seen
