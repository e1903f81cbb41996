"""Findings on sessions that hold snapshots and locks, on prepared transactions, slots and slow statements."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from tests.conftest import Connection
from tests.databases import Janitor, login_as
from tests.store.doctor.doctor_arrange import look, seen
from tests.store.store_arrange import wait_until_blocked


@pytest.mark.parametrize("bound", [{"open_for": 0.0}, {"transactions": 0}])
async def test_a_long_open_transaction_is_reported_with_its_session(database_url: str, bound: dict[str, Any]) -> None:
    with psycopg.connect(database_url, application_name="reports") as reader:
        reader.execute("insert into pgsched.clients (client_id) values ('open')")
        pid = str(reader.info.backend_pid)
        found = [one for one in await look(database_url, "horizon", **bound) if pid in one.seen]
        reader.rollback()
    assert [one.severity for one in found] == ["warning"]
    assert "(reports) has had a transaction open" in found[0].seen
    assert f"pg_terminate_backend({pid})" in found[0].do
    assert "cannot clean up dead rows" in found[0].why


async def test_another_databases_transaction_is_reported_once_it_writes(janitor: Janitor, database_url: str) -> None:
    with psycopg.connect(janitor.url_of("postgres")) as elsewhere:
        pid = str(elsewhere.info.backend_pid)
        elsewhere.execute("set transaction isolation level repeatable read; select 1")
        bounds: dict[str, Any] = {"open_for": 0.0, "open_elsewhere": 0.0}
        assert not any(pid in text for _, text in await seen(database_url, "horizon", **bounds))
        elsewhere.execute("select pg_current_xact_id()")
        found = [one for one in await look(database_url, "horizon", **bounds) if pid in one.seen]
    assert [one.severity for one in found] == ["warning"]
    assert "in the database postgres" in found[0].seen
    assert "events" in found[0].why


async def test_an_old_prepared_transaction_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    for statement in ("begin", "select pg_current_xact_id()", "prepare transaction 'left over'"):
        db.execute(statement)
    try:
        found = [one for one in await look(database_url, "horizon", prepared=0.0) if "left over" in one.seen]
    finally:
        db.execute("rollback prepared 'left over'")
    assert [one.severity for one in found] == ["warning"]
    assert "rollback prepared 'left over'" in found[0].do


@asynccontextmanager
async def _under_way(url: str, name: str, statement: str) -> AsyncIterator[AsyncConnection[Any]]:
    """A session in which a statement runs until the block ends."""
    async with await AsyncConnection.connect(url, autocommit=True, application_name=name) as connection:
        task = asyncio.create_task(connection.execute(statement.encode()))
        try:
            yield connection
        finally:
            connection.cancel()
            with suppress(psycopg.errors.QueryCanceled):
                await task


async def test_a_lock_wait_is_reported_with_the_lock_holder(db: Connection, database_url: str) -> None:
    with psycopg.connect(database_url) as holder:
        pid = holder.info.backend_pid
        holder.execute("lock table pgsched.jobs")
        async with _under_way(database_url, "pgsched plan abc", "select from pgsched.jobs") as waiting:
            await asyncio.to_thread(wait_until_blocked, db, waiting)
            holding, found = await look(database_url, "lock waits", waits_for_lock=0.0)
        holder.rollback()
    assert holding.severity == "error"
    assert "has had pgsched.jobs locked (AccessExclusiveLock)" in holding.seen
    assert f"pg_terminate_backend({pid})" in holding.do
    assert found.severity == "warning"
    assert "(pgsched plan abc) has been waiting" in found.seen
    assert "AccessShareLock on pgsched.jobs" in found.seen
    assert f"pg_terminate_backend({pid})" in found.do


async def test_a_wait_for_a_prepared_transaction_points_to_pg_prepared_xacts(db: Connection, database_url: str) -> None:
    for statement in ("begin", "lock table pgsched.jobs", "prepare transaction 'keeps jobs'"):
        db.execute(statement)
    try:
        async with _under_way(database_url, "pgsched plan abc", "select from pgsched.jobs") as waiting:
            await asyncio.to_thread(wait_until_blocked, db, waiting)
            [found] = await look(database_url, "lock waits", waits_for_lock=0.0)
    finally:
        db.execute("rollback prepared 'keeps jobs'")
    assert "that a prepared transaction holds" in found.seen
    assert ("pg_prepared_xacts" in found.do, "pg_terminate_backend" in found.do) == (True, False)


async def test_another_logins_lock_is_reported_without_an_age(db: Connection, database_url: str) -> None:
    with login_as(db, database_url, "pgsched_reader") as url, psycopg.connect(database_url) as holder:
        holder.execute("lock table pgsched.jobs")
        [(severity, text)] = await seen(url, "lock waits")
        holder.rollback()
    assert severity == "note"
    assert "has pgsched.jobs locked (AccessExclusiveLock); " in text
    assert text.endswith(" lacks the privilege to see since when")


def _wait_until_asleep(db: Connection, pid: int) -> None:
    asleep = "select true from pg_stat_activity where pid = %s and wait_event = 'PgSleep'"
    while not db.execute(asleep, [pid]).fetchone():
        pass


async def test_a_workers_slow_statement_is_reported_as_a_warning(db: Connection, database_url: str) -> None:
    async with _under_way(database_url, "pgsched claim abc", "select pg_sleep(60)") as slow:
        await asyncio.to_thread(_wait_until_asleep, db, slow.info.backend_pid)
        [(severity, text)] = await seen(database_url, "slow statements", statement=0.0)
    assert severity == "warning"
    assert "pgsched claim abc" in text
    assert text.endswith("select pg_sleep(60)")


async def test_an_unused_replication_slot_that_retains_wal_is_a_warning(db: Connection, database_url: str) -> None:
    name = f"kept_{db.info.dbname}"
    db.execute("select pg_create_physical_replication_slot(%s, true)", [name])
    try:
        assert not any(name in text for _, text in await seen(database_url, "write-ahead log"))
        found = [one for one in await look(database_url, "write-ahead log", retained=0) if name in one.seen]
    finally:
        db.execute("select pg_drop_replication_slot(%s)", [name])
    assert [one.severity for one in found] == ["warning"]
    assert "the slot is not in use" in found[0].seen
    assert f"pg_drop_replication_slot('{name}')" in found[0].do


async def test_hidden_transaction_ages_yield_advice_to_grant_pg_monitor(db: Connection, database_url: str) -> None:
    with login_as(db, database_url, "pgsched_reader") as url, psycopg.connect(database_url) as other:
        other.execute("select pg_current_xact_id()")
        found = [one for one in await look(url, "horizon") if "of other logins" in one.seen]
        db.execute("grant pg_monitor to looks")
        assert not any("of other logins" in text for _, text in await seen(url, "horizon"))
        other.rollback()
    assert [one.severity for one in found] == ["note"]
    assert 'grant pg_monitor to "looks"' in found[0].do


def _record_minutes(db: Connection, earliest: int, latest: int) -> None:
    """Record rollups from ``earliest`` to ``latest`` minutes ago, each in its own transaction, as workers do."""
    for ago in range(earliest, latest - 1, -1):
        db.execute(
            "insert into pgsched.rollups (minute, client_id, queue)"
            " values (date_trunc('minute', now()) - %s * interval '1 minute', '', 'default')",
            [ago],
        )


@contextmanager
def _snapshot(url: str) -> Iterator[str]:
    """Hold a snapshot in another session, and yield the id of its process."""
    with psycopg.connect(url, application_name="reports") as reader:
        reader.execute("set transaction isolation level repeatable read; select 1")
        yield str(reader.info.backend_pid)


@pytest.mark.parametrize("group", ["pgsched_reader", "pgsched_worker", "pgsched_api"])
async def test_hidden_transaction_ages_are_reported_as_a_minimum_age(
    db: Connection, database_url: str, group: str
) -> None:
    _record_minutes(db, 40, 31)
    with login_as(db, database_url, group) as url, _snapshot(database_url) as pid:
        _record_minutes(db, 30, 2)
        found = [one for one in await look(url, "horizon") if pid in one.seen]
        db.execute("update pgsched.rollups set attempts = 1 where minute = (select min(minute) from pgsched.rollups)")
        found += [one for one in await look(url, "horizon") if pid in one.seen]
    assert [one.severity for one in found] == ["warning", "warning"]
    assert all(re.search(r"\(reports\) has had a transaction open for at least (29|30) min", one.seen) for one in found)


async def test_a_new_transaction_is_not_reported_as_long_open(db: Connection, database_url: str) -> None:
    _record_minutes(db, 40, 2)
    with login_as(db, database_url, "pgsched_reader") as url, _snapshot(database_url) as pid:
        db.execute("update pgsched.rollups set attempts = 1 where minute = (select max(minute) from pgsched.rollups)")
        assert not any(pid in text for _, text in await seen(url, "horizon"))
