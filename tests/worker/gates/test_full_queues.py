"""One worker's turns find that queues are full, and that they have room again."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.upkeep.full_queues import FullQueues
from tests.worker.conftest import Connection, Recorder, numbered, value

FULL = "select full_since is not null from pgsched.queues where name = 'default'"
SCHEDULE = "select pgsched.schedule('python:x', delay => '1 hour')"


@pytest.fixture
async def link(database_url: str) -> AsyncIterator[Link]:
    made = Link(database_url, "test")
    yield made
    await made.drop()


@pytest.fixture
def full_queues(link: Link, recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> FullQueues:
    monkeypatch.setattr("pgsched.upkeep.full_queues._ONE_IN", 0)
    return FullQueues(link, Events(recorder), numbered(5))


async def bound(db: Connection, maximum: int) -> None:
    await db.execute("select pgsched.set_queue('default', jsonb_build_object('max_waiting', %s::int))", [maximum])


async def test_a_queue_is_full_once_the_maximum_number_of_executions_is_waiting(
    db: Connection, full_queues: FullQueues, recorder: Recorder
) -> None:
    await bound(db, 3)
    for expected in (False, False, True):
        await db.execute(SCHEDULE)
        await full_queues.turn()
        assert await value(db, FULL) is expected
    assert recorder.named("queue.full") == [{"queue": "default", "waiting": 3, "maximum": 3}]
    with pytest.raises(psycopg.Error) as caught:
        await db.execute(SCHEDULE)
    assert caught.value.sqlstate == "PS014"


async def test_a_full_queue_has_room_again_once_fewer_executions_wait(
    db: Connection, full_queues: FullQueues, recorder: Recorder
) -> None:
    await bound(db, 1)
    id = await value(db, SCHEDULE)
    await full_queues.turn()
    await db.execute("select pgsched.cancel(id => %s)", [id])
    await full_queues.turn()
    assert await value(db, FULL) is False
    assert len(recorder.named("queue.has_room")) == 1


async def test_leased_executions_do_not_count_as_waiting(db: Connection, full_queues: FullQueues) -> None:
    await bound(db, 1)
    await db.execute(SCHEDULE)
    await db.execute("update pgsched.executions set lease_token = 1, lease_owner = 5, lease_expires_at = now()")
    await full_queues.turn()
    assert await value(db, FULL) is False


async def test_each_queues_waiting_executions_are_counted_separately(db: Connection, full_queues: FullQueues) -> None:
    await db.execute("""select pgsched.create_queue('orders', '{"max_waiting": 1}')""")
    await bound(db, 1)
    await db.execute("select pgsched.schedule('python:x', queue => 'orders')")
    await full_queues.turn()
    assert await value(db, "select array_agg(name) from pgsched.queues where full_since is not null") == ["orders"]


async def test_queues_without_a_maximum_are_checked_once_a_minute(full_queues: FullQueues) -> None:
    assert await full_queues.turn() == 60.0


async def test_only_the_first_running_worker_counts_waiting_executions(db: Connection, full_queues: FullQueues) -> None:
    await db.execute(
        "insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value"
        " values (1, 'first', '{default}', '0', now() + interval '1 minute')"
    )
    await bound(db, 1)
    await db.execute(SCHEDULE)
    await full_queues.turn()
    assert await value(db, FULL) is False
    await db.execute("update pgsched.workers set lost_since = now()")
    await full_queues.turn()
    assert await value(db, FULL) is True
