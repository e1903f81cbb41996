"""Days of history are created and dropped without queueing for locks, and kept for ``history_days``."""

from collections.abc import AsyncIterator
from datetime import date

import psycopg
import pytest
import pytest_asyncio

from pgsched.store import internal_verbs
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.retention import Retention
from tests.store.store_arrange import Connection, column, finish, schedule, value

pytestmark = pytest.mark.oldest_postgresql

ATTACHED = """
select count(*) from pg_inherits
 where inhparent = 'pgsched.history'::regclass and inhrelid::regclass::text ~ '_[0-9]{8}$'"""
NAMES = """
select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
 where i.inhparent = 'pgsched.history'::regclass and c.relname ~ '_[0-9]{8}$' order by 1"""
WAITING = "select count(*) from pg_locks where not granted and relation is not null"


@pytest_asyncio.fixture
async def link(store_url: str) -> AsyncIterator[Link]:
    made = Link(store_url, "upkeep")
    yield made
    await made.drop()


def service(link: Link, *, tries: int = 60) -> Retention:
    return Retention(link, Events(), tries=tries)


@pytest.fixture
def old_day(db: Connection) -> str:
    """An attached day of history, forty days ago."""
    day = value(db, "select (now() at time zone 'UTC')::date - 40")
    db.execute(f"drop table if exists pgsched_internal.history_{day:%Y%m%d}".encode())
    for verb in ("make_day", "attach_day"):
        assert value(db, f"select pgsched_internal.{verb}('history', %s)", [day])
    return f"history_{day:%Y%m%d}"


async def test_retention_creates_day_partitions_two_weeks_ahead(db: Connection, link: Link) -> None:
    assert await service(link).turn() == 3600.0
    assert value(db, ATTACHED) == 15


async def test_history_readers_delay_attaching_a_day_partition_but_not_settling(
    db: Connection, link: Link, store_url: str
) -> None:
    finish(db, schedule(db))
    connection, day = await link.get(), ("history", date(2090, 1, 1))
    assert await internal_verbs.make_day(connection, *day)
    with psycopg.connect(store_url) as reader:
        reader.execute("select count(*) from pgsched.history")
        assert await internal_verbs.attach_day(connection, *day) is False
        assert value(db, WAITING) == 0
        finish(db, schedule(db))  # settling is not blocked
    assert await internal_verbs.attach_day(connection, *day) is True
    assert "history_20900101" in column(db, NAMES)
    db.execute("drop table pgsched_internal.history_20900101")


async def test_retention_retries_sooner_if_it_cannot_get_its_locks(
    db: Connection, link: Link, store_url: str, old_day: str
) -> None:
    with psycopg.connect(store_url) as reader:
        reader.execute("select count(*) from pgsched.history")
        assert await service(link, tries=3).turn() == 60.0
    assert await service(link).turn() == 3600.0
    assert old_day not in column(db, NAMES)


async def test_history_readers_delay_dropping_a_day_partition_but_not_settling(
    db: Connection, link: Link, store_url: str, old_day: str
) -> None:
    with psycopg.connect(store_url) as reader:
        reader.execute("select count(*) from pgsched.history")
        connection = await link.get()
        assert await internal_verbs.drop_day(connection, old_day) is False
        assert value(db, WAITING) == 0
        finish(db, schedule(db))
    assert await internal_verbs.drop_day(connection, old_day) is True
    assert old_day not in column(db, NAMES)


async def test_a_day_partition_is_not_dropped_during_a_settling_transaction(
    db: Connection, link: Link, store_url: str, old_day: str
) -> None:
    with psycopg.connect(store_url) as settling:
        settling.execute("lock table pgsched.history in row exclusive mode")
        assert await internal_verbs.drop_day(await link.get(), old_day) is False
        finish(db, schedule(db))


async def test_a_day_partition_older_than_the_history_days_setting_is_dropped(
    db: Connection, link: Link, old_day: str
) -> None:
    db.execute("select pgsched.set_installation('{\"history_days\": 3650}')")
    await service(link).turn()
    assert old_day in column(db, NAMES)
    db.execute("select pgsched.set_installation('{\"history_days\": null}')")
    await service(link).turn()
    assert old_day not in column(db, NAMES)


async def test_an_outsiders_advisory_lock_does_not_prevent_new_day_partitions(
    db: Connection, link: Link, store_url: str
) -> None:
    with psycopg.connect(store_url, autocommit=True) as outsider:
        outsider.execute("select pg_advisory_lock(hashtext('pgsched days'))")
        await service(link).turn()
    assert value(db, ATTACHED) == 15


async def test_only_one_worker_creates_day_partitions_at_a_time(db: Connection, link: Link, store_url: str) -> None:
    with psycopg.connect(store_url) as other:
        other.execute("select pgsched_internal.try_lock('days')")
        assert not await internal_verbs.make_day(await link.get(), "history", date(2020, 1, 1))


async def test_attaching_an_already_attached_day_partition_is_a_no_op(db: Connection, link: Link) -> None:
    connection, day = await link.get(), ("history", date(2090, 1, 2))
    assert await internal_verbs.make_day(connection, *day)
    assert value(db, "select pgsched_internal.attach_day('history', '2090-01-02')")
    assert await internal_verbs.attach_day(connection, *day)
    db.execute("drop table pgsched_internal.history_20900102; delete from pgsched_internal.days where name ~ '2090'")


async def test_a_day_partition_is_not_attached_if_its_rows_are_in_the_default(db: Connection, link: Link) -> None:
    finish(db, schedule(db), ago="9000 days")
    day = value(db, "select (finished_at at time zone 'UTC')::date from pgsched.history")
    connection = await link.get()
    assert await internal_verbs.make_day(connection, "history", day)
    assert await internal_verbs.attach_day(connection, "history", day) is True
    assert f"history_{day:%Y%m%d}" not in column(db, NAMES)
    assert value(db, "select count(*) from pgsched_internal.history_default") == 1
    assert await internal_verbs.drop_day(connection, f"history_{day:%Y%m%d}") is True
