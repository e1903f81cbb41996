"""The end of each execution is read once, in the order in which ends become visible."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection

from pgsched.domain.event_position import Position
from pgsched.errors import InvalidInput
from pgsched.store.lookup.event_feed import horizon, read_events
from pgsched.store.lookup.row_types import Event
from tests.store.store_arrange import Connection, call, column, schedule

pytestmark = pytest.mark.oldest_postgresql
Reader = AsyncConnection[Any]


@pytest.fixture
async def reader(store_url: str) -> AsyncIterator[Reader]:
    async with await AsyncConnection.connect(store_url, autocommit=True) as connection:
        yield connection


@contextmanager
def _other(store_url: str) -> Iterator[Connection]:
    with psycopg.connect(store_url) as connection:
        yield connection


async def _now(reader: Reader) -> Position:
    return Position.of(await horizon(reader))


async def _read(reader: Reader, position: Position, **given: Any) -> tuple[list[Event], Position]:
    """Read everything there is, passing positions on as text."""
    now, found, complete = await horizon(reader), list[Event](), False
    while not complete:
        page = await read_events(reader, position, now, **given)
        found += page.items
        position, complete = Position.parse(str(page.end)), page.complete
    return found, position


async def test_an_event_contains_the_executions_outcome(db: Connection, reader: Reader) -> None:
    begin = await _now(reader)
    id = schedule(db, client="shop", key="settle-1")
    call(db, "cancel", id=id, note="no longer wanted")
    [event], _ = await _read(reader, begin)
    assert (event.id, event.client, event.key, event.queue) == (id, "shop", "settle-1", "default")
    assert (event.status, event.reason, event.attempt) == ("cancelled", "no longer wanted", 0)
    nothing, _ = await _read(reader, Position.parse(event.cursor))
    assert nothing == []


async def test_a_late_commits_event_is_read_later_and_delays_no_other_events(
    db: Connection, reader: Reader, store_url: str
) -> None:
    late, after, last = (schedule(db) for _ in range(3))
    position = await _now(reader)
    with _other(store_url) as other:
        call(other, "cancel", id=late)
        call(db, "cancel", id=after)
        [event], position = await _read(reader, position)
        assert event.id == after
        nothing, position = await _read(reader, position)
        assert nothing == []
        other.commit()
        call(db, "cancel", id=last)
        found, position = await _read(reader, position)
        assert [event.id for event in found] == [late, last]
        assert found[0].finished_at < event.finished_at
    assert (await _read(reader, position))[0] == []


async def test_events_written_in_savepoints_are_read_after_the_commit(
    db: Connection, reader: Reader, store_url: str
) -> None:
    first, second = schedule(db), schedule(db)
    with _other(store_url) as other:
        other.execute("savepoint a")
        call(other, "cancel", id=first)
        other.execute("release a; savepoint b")
        position = await _now(reader)
        call(other, "cancel", id=second)
        other.execute("release b")
        assert (await _read(reader, position))[0] == []
        other.commit()
    found, position = await _read(reader, position)
    assert {event.id for event in found} == {first, second}
    assert (await _read(reader, position))[0] == []


async def test_updating_a_history_row_does_not_repeat_its_event(db: Connection, reader: Reader) -> None:
    position = await _now(reader)
    id = schedule(db)
    call(db, "cancel", id=id)
    _, position = await _read(reader, position)
    db.execute("update pgsched.history set awaited = true where id = %s", [id])
    assert (await _read(reader, position))[0] == []


async def test_reading_can_resume_between_events_of_one_transaction(db: Connection, reader: Reader) -> None:
    position = await _now(reader)
    with db.transaction():
        ids = [schedule(db) for _ in range(7)]
        for id in ids:
            call(db, "cancel", id=id)
    whole, end = await _read(reader, position)
    assert [event.id for event in whole] == sorted(ids)
    again, there = await _read(reader, position, limit=3)
    assert (again, there.seen) == (whole, end.seen)  # the clock may reach the next second in between
    for number, event in enumerate(whole):
        assert (await _read(reader, Position.parse(event.cursor), limit=2))[0] == whole[number + 1 :]


async def test_a_rolled_back_event_is_never_read(db: Connection, reader: Reader, store_url: str) -> None:
    id = schedule(db)
    position = await _now(reader)
    with _other(store_url) as other:
        call(other, "cancel", id=id)
        other.rollback()
    assert (await _read(reader, position))[0] == []


async def test_events_can_be_read_from_the_beginning_or_from_an_instant(db: Connection, reader: Reader) -> None:
    ids = [schedule(db) for _ in range(3)]
    for id in ids:
        call(db, "cancel", id=id)
    db.execute("update pgsched.history set finished_at = now() - interval '3 hours' where id = %s", [ids[0]])
    since = datetime.now(UTC) - timedelta(hours=1)
    assert {event.id for event in (await _read(reader, Position.parse("0.0.0..")))[0]} == set(ids)
    found, _ = await _read(reader, Position.beginning(since), since=since)
    assert [event.id for event in found] == ids[1:]


async def test_events_can_be_limited_to_given_clients(db: Connection, reader: Reader) -> None:
    position = await _now(reader)
    for client in ("shop", "orders", "billing"):
        call(db, "cancel", id=schedule(db, client=client))
    found, _ = await _read(reader, position, clients=["shop", "billing"])
    assert [event.client for event in found] == ["shop", "billing"]


async def test_a_position_from_before_a_restore_is_refused(reader: Reader) -> None:
    now = await horizon(reader)
    ahead = Position.of(now).up_to(now, now.newest + 1000)
    with pytest.raises(InvalidInput, match="before it was restored"):
        ahead.check(await horizon(reader))


async def test_every_event_is_read_once_if_commits_are_out_of_order(
    db: Connection, reader: Reader, store_url: str
) -> None:
    ids = [schedule(db) for _ in range(160)]
    position = await _now(reader)
    shares = [ids[start::4] for start in range(4)]
    writers = [threading.Thread(target=_cancel, args=(store_url, share, seed)) for seed, share in enumerate(shares)]
    for writer in writers:
        writer.start()
    told: list[UUID] = []
    while any(writer.is_alive() for writer in writers):
        found, position = await _read(reader, position, limit=random.Random(len(told)).randint(1, 9), span=3)
        told += [event.id for event in found]
        await asyncio.sleep(0)
    told += [event.id for event in (await _read(reader, position))[0]]
    assert sorted(told) == sorted(ids)
    assert len(column(db, "select id from pgsched.history")) == len(ids)


def _cancel(store_url: str, ids: list[UUID], seed: int) -> None:
    """Cancel in transactions of several statements and savepoints, with another transaction open beside each."""
    chance = random.Random(seed)
    with psycopg.connect(store_url) as held, psycopg.connect(store_url) as quick:
        for id in ids:
            session = chance.choice((held, quick))
            with session.transaction():  # a savepoint in an open transaction
                call(session, "cancel", id=id)
            if session is quick or chance.random() < 0.2:
                session.commit()
