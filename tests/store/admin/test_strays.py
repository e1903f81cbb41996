"""Rows of days without a table: the default partition becomes their table, and no row is lost or duplicated."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import date, timedelta
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql

from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.retention import Retention
from tests.store.doctor.doctor_arrange import make_days
from tests.store.store_arrange import Connection, column, finish, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

STEP = "select pgsched_internal.adopt_strays('history')"
ALL = "select id from pgsched.history order by id"
STRAYS = "select count(*) from pgsched_internal.history_default"
WAITING = "select count(*) from pg_locks where not granted and relation is not null"
HOMES = "select d.name, d.first_day, d.last_day from pgsched_internal.days_of('history') d order by 2"
SHAPE = """
select c.relname || regexp_replace(pg_get_indexdef(i.indexrelid), ' ON .* USING ', ' USING ') as shape
  from pg_index i join pg_class c on c.oid = i.indexrelid
 where i.indrelid = 'pgsched_internal.history_default'::regclass order by 1"""
BOUND = """
select conname from pg_constraint
 where conrelid = 'pgsched_internal.history_default'::regclass and contype = 'c' and conname ~ '^days'"""


@pytest.fixture
def db(database_url: str) -> Iterator[Connection]:
    """A private database, since these tests change its tables."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest_asyncio.fixture
async def link(database_url: str) -> AsyncIterator[Link]:
    made = Link(database_url, "upkeep")
    yield made
    await made.drop()


@pytest.fixture
def today(db: Connection) -> date:
    found = value(db, "select (pgsched.now() at time zone 'UTC')::date")
    assert isinstance(found, date)
    return found


async def turn(link: Link) -> float:
    return await Retention(link, Events()).turn()


def ended(db: Connection, *ago: str) -> list[UUID]:
    """Create executions that ended this long ago, and return their sorted ids."""
    ids = [schedule(db) for _ in ago]
    for id, time in zip(ids, ago, strict=True):
        finish(db, id, ago=time)
    return sorted(ids)


class Settling:
    """A thread that ends one execution after another, each in its own transaction. ``ids`` are committed executions."""

    def __init__(self, url: str) -> None:
        self.ids: list[UUID] = []
        self._url, self._is_over = url, False
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._settle)

    def __enter__(self) -> "Settling":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()

    def wait_for(self, more: int) -> None:
        """Wait until this many more executions have ended."""
        with self._more:
            reached = len(self.ids) + more
            assert self._more.wait_for(lambda: len(self.ids) >= reached, timeout=60)

    def _settle(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as session:
            while not self._is_over:
                id = schedule(session)
                finish(session, id)
                with self._more:
                    self.ids.append(id)
                    self._more.notify_all()


async def test_the_default_partition_is_adopted_as_a_missing_days_table(
    db: Connection, link: Link, today: date
) -> None:
    shape, ids = column(db, SHAPE), ended(db, "0 seconds", "0 seconds")
    assert await turn(link) == 3600.0
    assert value(db, STRAYS) == 0
    assert column(db, SHAPE) == shape
    assert column(db, f"select id from pgsched_internal.history_{today:%Y%m%d} order by id") == ids
    later = ended(db, "0 seconds")
    assert column(db, ALL) == sorted(ids + later)
    assert value(db, STRAYS) == 0
    before = column(db, HOMES)
    assert await turn(link) == 3600.0
    assert column(db, HOMES) == before


async def test_adoption_during_settling_neither_loses_nor_duplicates_rows(
    db: Connection, link: Link, database_url: str
) -> None:
    ids = ended(db, "0 seconds")
    with Settling(database_url) as settling:
        settling.wait_for(20)
        while len(column(db, HOMES)) < 15:
            await turn(link)
        settling.wait_for(20)
    assert column(db, ALL) == sorted(ids + settling.ids)
    assert value(db, STRAYS) == 0


async def test_adoption_does_not_block_settling_while_it_waits_for_a_reader(
    db: Connection, link: Link, database_url: str
) -> None:
    ids = ended(db, "0 seconds")
    await make_days(database_url, ahead=1)
    for found, expected in (("busy", "going on"), ("going on", "going on"), ("busy", "adopted")):
        with psycopg.connect(database_url) as reader:
            reader.execute("select count(*) from pgsched.history")
            assert value(db, STEP) == found
            assert value(db, WAITING) == 0
            ids += ended(db, "0 seconds")  # settling is not blocked
        if found == "busy":
            assert value(db, STEP) == expected
    assert column(db, ALL) == sorted(ids)


async def test_an_adoption_killed_at_any_step_resumes_without_loss(
    db: Connection, link: Link, database_url: str
) -> None:
    ids = ended(db, "0 seconds", "1 day")
    await make_days(database_url, ahead=1)
    for step in ("going on", "going on", "adopted"):
        with suppress(psycopg.OperationalError), psycopg.connect(database_url) as killed:
            assert value(killed, STEP) == step
            assert value(db, "select pg_terminate_backend(%s, 10000)", [killed.info.backend_pid])
        assert column(db, ALL) == ids
        assert value(db, STEP) == step
        assert column(db, ALL) == ids
    assert value(db, STEP) == "none"


async def test_a_table_adopted_for_several_days_is_archived_and_dropped(
    db: Connection, link: Link, today: date
) -> None:
    db.execute("select pgsched.set_installation('{\"archive_history\": true}')")
    ids = ended(db, "40 days", "41 days", "43 days")
    await turn(link)
    first, last = today - timedelta(43), today - timedelta(40)
    assert row(db, f"{HOMES} limit 1") == (f"history_{last:%Y%m%d}", first, last)
    assert column(db, ALL) == ids
    for ago in (43, 42, 41, 40):
        await turn(link)
        assert column(db, ALL) == ids
        assert column(db, "select pgsched_internal.days_to_archive()")[0] == today - timedelta(ago)
        assert value(db, "select pgsched_internal.mark_archived(%s)", [today - timedelta(ago)])
    await turn(link)
    assert column(db, ALL) == []


async def test_adoption_replaces_a_constraint_for_the_wrong_days(
    db: Connection, database_url: str, today: date
) -> None:
    ids = ended(db, "0 seconds")
    await make_days(database_url, ahead=1)
    assert value(db, STEP) == "going on"  # from now on, the partition accepts only today's rows
    with pytest.raises(psycopg.errors.CheckViolation):
        ended(db, "1 day")
    db.execute("delete from pgsched.history where id <> all (%s)", [ids])
    rename = "alter table pgsched_internal.history_default rename constraint {} to days_20200101_20200102"
    db.execute(sql.SQL(rename).format(sql.Identifier(value(db, BOUND))))
    assert [value(db, STEP) for _ in range(3)] == ["going on", "going on", "going on"]
    said: list[str] = []
    db.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
    db.execute("set client_min_messages = debug1")
    assert value(db, STEP) == "adopted"
    implied = f'constraint for table "history_{today:%Y%m%d}" is implied by existing constraints'
    assert any(implied in text for text in said)  # no row is read under the locks
    assert column(db, ALL) == ids


async def test_rows_on_both_sides_of_an_existing_day_delay_their_adoption(
    db: Connection, link: Link, today: date
) -> None:
    ids = ended(db, "0 seconds")
    await turn(link)
    both = [*ended(db, "2 days"), *ended(db, "-20 days")]
    assert value(db, STEP) == "apart"
    await turn(link)
    assert value(db, STRAYS) == 2
    db.execute("delete from pgsched.history where id = %s", [both[0]])
    await turn(link)
    assert row(db, f"{HOMES} desc limit 1") == (f"history_{today + timedelta(20):%Y%m%d}", *[today + timedelta(20)] * 2)
    assert column(db, ALL) == sorted([*ids, both[1]])
