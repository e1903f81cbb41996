"""Sessions of pgsched behave the same whatever the database's settings, and whatever its search path contains."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from pgsched.api.connection_pool import Database
from pgsched.store.admin.interface_replacement import interface_sql
from pgsched.store.admin.migrate import migrate
from pgsched.store.admin.schema_revisions import check_schema
from pgsched.store.core import connect, session_settings
from pgsched.store.core.client_role_sessions import Sessions
from pgsched.store.core.new_connection import lending, transaction, transaction_async
from pgsched.store.core.sql import statement
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.telemetry import Events
from tests.store.store_arrange import Connection, call, schedule, value

pytestmark = pytest.mark.oldest_postgresql

HOSTILE = {
    "intervalstyle": "iso_8601",
    "datestyle": "German",
    "timezone": "'Asia/Kolkata'",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "default_transaction_isolation": "serializable",
    "standard_conforming_strings": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "search_path": "evil, pg_catalog",
}
_LONGER = "select pg_sleep(0.1)"
# Each operator matches the types of our columns exactly, so that PostgreSQL would prefer it to its own.
EVIL = """
create schema evil;
create function evil.never(uuid, uuid) returns boolean language sql immutable as 'select false';
create operator evil.= (leftarg = uuid, rightarg = uuid, function = evil.never);
create function evil.number(bigint, bigint) returns boolean language sql immutable as 'select false';
create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.number);
create function evil.small(smallint, integer) returns boolean language sql immutable as 'select false';
create operator evil.= (leftarg = smallint, rightarg = integer, function = evil.small);
create function evil.instant(pgsched_internal.instant, timestamptz) returns boolean
  language sql immutable as 'select false';
create operator evil.<= (leftarg = pgsched_internal.instant, rightarg = timestamptz, function = evil.instant);
create function evil.later(timestamptz, timestamptz) returns boolean language sql immutable as 'select false';
create operator evil.<= (leftarg = timestamptz, rightarg = timestamptz, function = evil.later);
create function evil.unnest(uuid[]) returns setof uuid language sql as 'select null::uuid where false';

"""


@pytest.fixture
def hostile(store_url: str) -> Iterator[str]:
    """A database whose settings and operators would change the meaning of our statements."""
    name = store_url.partition("?")[0].rsplit("/", 1)[1]
    with psycopg.connect(store_url, autocommit=True) as admin:
        admin.execute(EVIL.encode())
        for setting, given in HOSTILE.items():
            admin.execute(f"alter database {name} set {setting} = {given}".encode())
        yield store_url
        admin.execute("drop schema evil cascade")
        for setting in HOSTILE:
            admin.execute(f"alter database {name} reset {setting}".encode())


@pytest_asyncio.fixture
async def session(hostile: str) -> AsyncIterator[connect.Connection]:
    connection = await connect.connect(hostile, "test")
    yield connection
    await connection.close()


async def show(connection: Any, setting: str) -> str:
    [found] = await (await connection.execute(f"show {setting}".encode())).fetchone()
    return str(found)


@pytest.mark.parametrize("setting", sorted(HOSTILE))
async def test_a_worker_session_ignores_database_settings(
    session: connect.Connection, hostile: str, setting: str
) -> None:
    with transaction(hostile) as other:
        [expected] = other.execute(f"show {setting}".encode()).fetchone() or ("",)
    found = await show(session, setting)
    assert found == expected
    assert found.casefold() != HOSTILE[setting].strip("'").casefold()


async def test_claiming_and_settling_ignore_operators_in_the_search_path(
    db: Connection, session: connect.Connection
) -> None:
    for n in range(5):
        schedule(db, fire_at="2020-01-01Z", payload={"n": n})
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    answer = await executions.claim(session, lease, [PartitionShare(p, LONG_AGO, 100) for p in range(16)], now=0)
    assert len(answer.rows) == 5
    for row in answer.rows:
        [settled] = await executions.settle_succeeded(session, 200, {row.partition: Group([row.id], [row.token])})
        assert settled.rowcount == 1
    assert value(db, "select count(*) from pgsched.history where status = 'succeeded'") == 5


async def test_planning_and_claiming_jobs_ignore_database_settings(db: Connection, hostile: str) -> None:
    schedule(db, every="90 minutes", key="often")
    schedule(db, cron="30 9 * * *", timezone="Europe/Berlin", key="daily")
    planner = await connect.connect(hostile, "test", raw=False)
    assert (await unplanned_jobs.plan_jobs(planner, batch=10, seconds=60))[:2] == (2, [])
    await planner.close()
    db.execute("update pgsched.executions set fire_at = pgsched.now(), scheduled_for = pgsched.now()")
    claiming = await connect.connect(hostile, "test")
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(0))
    shares = [PartitionShare(p, LONG_AGO, 100) for p in range(16)]
    answer = await executions.claim(claiming, lease, shares, now=to_instant(datetime.now(UTC)))
    await claiming.close()
    assert len(answer.rows) == 2
    assert (
        value(db, "select count(*) from pgsched.executions where lease_token is null and fire_at > pgsched.now()") == 2
    )


async def test_the_api_reads_values_correctly_despite_database_settings(hostile: str) -> None:
    database = Database(hostile, Events())
    await database.open()
    try:
        async with database.connection() as connection:
            cursor = await connection.execute(
                "select interval '36 hours', timestamptz '2026-03-04 05:06Z', '\\x00ff'::bytea"
            )
            assert await cursor.fetchone() == (
                timedelta(hours=36), datetime(2026, 3, 4, 5, 6, tzinfo=UTC), b"\x00\xff",
            )  # fmt: skip
            assert await show(connection, "search_path") == "pg_catalog, pg_temp"
            assert await show(connection, "transaction_isolation") == "read committed"
    finally:
        await database.close()


def test_an_edit_ignores_session_settings(hostile: str) -> None:
    with psycopg.connect(hostile, autocommit=True) as client:  # the abbreviation IST is ambiguous
        client.execute("set search_path = public")
        job = schedule(client, every="1 hour", key="often")
        assert call(client, "edit", id=job, changes={"anchor": None}) is True
        away = "select abs(extract(epoch from anchor - clock_timestamp())) < 300 from pgsched.jobs"
        assert value(client, away) is True


def test_scheduling_and_validation_ignore_session_settings(hostile: str) -> None:
    options = {"timeout": "5.5s", "headers": {"x-a": "b"}, "priority": 3}
    with psycopg.connect(hostile, autocommit=True) as client:
        for target in ("https://shop.example:8443/a?b=c", "https://[::1]/x", "sql:billing.settle"):
            schedule(client, target=target, delay=timedelta(minutes=90), options=options)
        rules = {"jitter": "PT5M", "exclude": ["2026-12-25", "30 2 * * 1-5"]}
        schedule(client, cron="15 3 1-7/2 * MON#1", timezone="Europe/Berlin", rules=rules)
        for target in ("https://-bad./", "sql:billing_settle", "https://a.example:99999/"):
            with pytest.raises(psycopg.Error) as refused:
                schedule(client, target=target)
            assert refused.value.sqlstate == "PS001"
        with pytest.raises(psycopg.Error) as refused:
            schedule(client, options={"timeout": "5d5d"})
        assert refused.value.sqlstate == "PS004"
        assert value(client, "select count(*) from pgsched.status") == 3


def test_no_sql_literal_depends_on_standard_conforming_strings() -> None:
    """A function's literals are read under the settings of the session that calls it."""
    plain = re.compile(r"(?<![A-Za-z0-9_])(E?)'((?:[^']|'')*)'")
    for text in interface_sql():
        for line in text.splitlines():
            if not line.lstrip().startswith("--"):
                assert [found[2] for found in plain.finditer(line) if "\\" in found[2] and not found[1]] == []


def test_migrating_ignores_database_settings(hostile: str) -> None:
    migrate(hostile)
    with transaction(hostile) as connection:
        check_schema(connection)


@pytest.fixture
def hasty(database_url: str) -> str:
    """A database with a transaction timeout of 50 ms, if this PostgreSQL has the setting."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        if admin.info.server_version >= 170_000:
            name = sql.Identifier(admin.info.dbname)
            admin.execute(sql.SQL("alter database {} set transaction_timeout = '50ms'").format(name))
    return database_url


async def test_pinned_sessions_have_no_transaction_timeout(hasty: str) -> None:
    async with await psycopg.AsyncConnection.connect(hasty) as session:
        await session_settings.pin(session)
        await session.execute(_LONGER)


async def test_commands_have_no_transaction_timeout(hasty: str) -> None:
    with transaction(hasty) as connection:
        connection.execute(_LONGER)
    async with transaction_async(hasty) as session:
        await session.execute(_LONGER)
    async with lending(hasty) as lend:
        for _ in range(2):
            async with lend() as session:
                await session.execute(_LONGER)


async def test_client_role_sessions_have_no_transaction_timeout(hasty: str) -> None:
    login = psycopg.conninfo.conninfo_to_dict(hasty)
    lent = Sessions(hasty, "user={role}", most=1)
    found: list[Any] = []

    async def call(session: psycopg.AsyncConnection[Any]) -> None:
        async with session.transaction():
            await session.execute(_LONGER)
        found.append(session)

    try:
        for _ in range(2):
            await lent.work(str(login["user"]), call)
    finally:
        await lent.close()
    assert found[0] is found[1]  # the session was cleared and kept


def test_migrations_have_no_transaction_timeout(hasty: str) -> None:
    migrate(hasty, anew=True)


def test_a_migration_restores_the_callers_transaction_timeout(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        if connection.info.server_version < 170_000:
            return
        connection.execute("set local transaction_timeout = '50min'")
        connection.execute(statement("admin/remember_settings").replace("{names}", "'datestyle'"))
        assert value(connection, "select current_setting('transaction_timeout')") == "0"
        connection.execute(statement("admin/restore_settings"))
        assert value(connection, "select current_setting('transaction_timeout')") == "50min"
