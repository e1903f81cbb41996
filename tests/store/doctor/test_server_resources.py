"""Findings on limited resources of the server, with bounds low enough to be reached."""

import re

import psycopg
from psycopg import sql

from tests.conftest import Connection
from tests.databases import login_as
from tests.store.doctor.doctor_arrange import look, seen


async def test_a_full_database_connection_limit_is_reported_as_an_error(db: Connection, database_url: str) -> None:
    limited = sql.SQL("alter database {} connection limit {}")
    name = sql.Identifier(db.info.dbname)
    db.execute(limited.format(name, sql.Literal(2)))
    [(severity, text)] = await seen(database_url, "connections")
    assert severity == "error"
    assert f"connections of the database {db.info.dbname} are" in text
    db.execute(limited.format(name, sql.Literal(-1)))
    assert await seen(database_url, "connections") == []


async def test_a_full_worker_login_connection_limit_is_an_error(db: Connection, database_url: str) -> None:
    with login_as(db, database_url, "pgsched_worker") as url:
        db.execute("alter role looks connection limit 1")
        with psycopg.connect(url):
            [(severity, text)] = await seen(database_url, "connections")
    assert (severity, text) == ("error", "1 of the 1 connections of the login looks are in use")


async def test_the_connections_check_counts_the_whole_server_under_any_login(db: Connection, database_url: str) -> None:
    [(_, text)] = await seen(database_url, "connections", of_connections=0.0)
    assert text.endswith("connections of the server are in use")
    with login_as(db, database_url, "pgsched_reader") as url:
        [(_, as_reader)] = await seen(url, "connections", of_connections=0.0)
    assert int(as_reader.split()[0]) > 2  # not only the reader's own


async def test_a_filling_notification_queue_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as listener:
        listener.execute("listen filled")
        listener.execute("begin")
        db.execute("select pg_notify('filled', repeat('x', 7000) || n) from generate_series(1, 40) n")
        assert await seen(database_url, "notifications") == []
        [(severity, text)] = await seen(database_url, "notifications", of_notifications=0.000001)
        listener.execute("rollback")
    assert severity == "warning"
    assert "notification queue is used" in text


async def test_a_database_near_wraparound_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    found = await look(database_url, "wraparound", of_wraparound=0.0)
    assert any(f"oldest unfrozen transaction of the database {db.info.dbname}" in one.seen for one in found)
    assert {one.severity for one in found} == {"warning"}


async def test_exhausted_worker_ids_are_reported_to_any_login(db: Connection, database_url: str) -> None:
    last = 2**31 - 1
    db.execute("select setval('pgsched.workers_id_seq', %s)", [last])
    with login_as(db, database_url, "pgsched_reader") as url:
        [(severity, text)] = await seen(url, "wraparound")
    assert (severity, text) == (
        "error",
        "the sequence pgsched.workers_id_seq has given out 2,147,483,647 of 2,147,483,647 numbers",
    )
    db.execute("alter sequence pgsched.workers_id_seq restart")
    assert await seen(database_url, "wraparound") == []


async def test_tables_without_autovacuum_are_reported_as_a_warning(db: Connection, database_url: str) -> None:
    db.execute("alter table pgsched_internal.executions_3 set (autovacuum_enabled = false)")
    db.execute("alter table pgsched_internal.executions_4 reset (fillfactor)")
    db.execute(sql.SQL("alter database {} set track_counts = off").format(sql.Identifier(db.info.dbname)))
    found = await look(database_url, "autovacuum")
    assert [(one.severity, one.seen) for one in found] == [
        ("warning", "the server has track_counts = off"),
        ("warning", "autovacuum is turned off for pgsched_internal.executions_3"),
        ("warning", "pgsched_internal.executions_4 has lost its storage settings"),
    ]
    db.execute(found[1].do.partition(": ")[2].rstrip(".").encode())
    db.execute(found[2].do.partition(": ")[2].rstrip(".").encode())
    assert [one.seen for one in await look(database_url, "autovacuum")] == ["the server has track_counts = off"]


async def test_a_table_with_many_dead_rows_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    # Autovacuum could overwrite the statistics with a count from before the rows died.
    db.execute("alter table pgsched.clients set (autovacuum_enabled = false)")
    with psycopg.connect(database_url) as reader:  # its snapshot keeps the dead rows
        reader.execute("set transaction isolation level repeatable read")
        reader.execute("select 1")
        with db.transaction():
            db.execute("insert into pgsched.clients (client_id) select 'c' || n from generate_series(1, 50) n")
        db.execute("delete from pgsched.clients where client_id <> 'default'")
        db.execute("select pg_stat_force_next_flush()")
        assert await seen(database_url, "dead rows") == []
        [(severity, text)] = await seen(database_url, "dead rows", dead_rows=20)
    assert severity == "warning"
    # The server may have removed a few dead rows that another test left.
    [count] = re.findall(r"^pgsched\.clients has (\d+) dead rows", text)
    assert 40 <= int(count) <= 50
