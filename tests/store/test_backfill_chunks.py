"""Running a backfill, turn by turn: which instants get a row, when it fires, and what holds it back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from pgsched.events import Events, Field
from pgsched.store import backfill_chunks, backfills, connect, executions
from pgsched.store.backfill_chunks import Chunk
from pgsched.store.backfills import Backfill, Extent, Range
from pgsched.store.connect import Link
from pgsched.store.executions import Group, Lease, Share
from pgsched.store.wire import LONG_AGO
from pgsched.upkeep.backfiller import Backfiller
from tests.store.store_arrange import Connection, call, column, finish, lease, row, schedule, status, value

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest_asyncio.fixture
async def planning(store_url: str) -> AsyncIterator[connect.Connection]:
    """A connection such as a backfiller has."""
    connection = await connect.connect(store_url, "test", raw=False)
    yield connection
    await connection.close()


@pytest.fixture
def job(db: Connection) -> UUID:
    """A job that fires at each full hour."""
    return schedule(db, cron="0 * * * *", target="python:report")


def start(db: Connection, job: UUID, *, hours: int = 24, rate: float = 10) -> UUID:
    """A backfill of the first hours of March."""
    id = call(db, "backfill", job_id=job, starts_at=MARCH, ends_at=MARCH + hours * HOUR, rate=rate)
    assert isinstance(id, UUID)
    return id


async def plan(planning: connect.Connection, id: UUID, *, most: int = 250) -> Chunk:
    return await backfill_chunks.plan_chunk(planning, id, most=most)


async def progress(planning: connect.Connection, id: UUID) -> Backfill:
    return await backfills.get(planning, id)


def planned(db: Connection, job: UUID) -> list[int]:
    """The hours since the first of March that have a row of a backfill."""
    found = column(
        db, "select scheduled_for from pgsched.executions where job_id = %s and plan = 0 order by scheduled_for", [job]
    )
    return [(at - MARCH) // HOUR for at in found]


def run_pace(db: Connection, id: UUID, seconds: float) -> None:
    """Lets so much of the backfill's time go by."""
    db.execute(
        "update pgsched.backfills set paced_until = paced_until - %s * interval '1 second' where id = %s", [seconds, id]
    )


def ran(db: Connection, job: UUID, hour: int, *, ended: str = "succeeded") -> None:
    """The instant has had a run of the job, which ended so."""
    id = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, partition, target)"
        " select %s, %s, j.id, pgsched.partition_of(j), j.target from pgsched.jobs j where j.id = %s returning id",
        [MARCH + hour * HOUR, MARCH + hour * HOUR, job],
    )
    finish(db, id, ended=ended)


async def test_no_more_is_planned_than_two_seconds_of_its_rate(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job, rate=3)
    assert (await plan(planning, id)).planned == 6
    assert (await plan(planning, id)).planned == 0
    run_pace(db, id, 1.0)
    assert (await plan(planning, id)).planned in {3, 4}
    assert planned(db, job) in [list(range(9)), list(range(10))]


async def test_rows_fire_at_the_pace_of_the_rate_from_now_on(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job, rate=2)
    await plan(planning, id)
    fires = column(db, "select fire_at from pgsched.executions where job_id = %s order by scheduled_for", [job])
    assert [later - earlier for earlier, later in pairwise(fires)] == [timedelta(seconds=0.5)] * 3
    assert value(db, "select now() - %s < interval '10 seconds'", [fires[0]])


async def test_a_rate_below_one_plans_one_row_at_a_time(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job, rate=0.01)
    assert (await plan(planning, id)).planned == 1
    assert (await plan(planning, id)).planned == 0
    run_pace(db, id, 99)
    assert (await plan(planning, id)).planned == 1


async def test_an_instant_that_succeeded_or_has_a_row_is_passed_over(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    ran(db, job, 1)
    ran(db, job, 2, ended="failed")
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, partition, target)"
        " select now() + interval '1 hour', %s, j.id, pgsched.partition_of(j), j.target from pgsched.jobs j",
        [MARCH + 3 * HOUR],
    )
    id = start(db, job, hours=5, rate=100)
    assert (await plan(planning, id)).more
    await plan(planning, id)
    assert planned(db, job) == [0, 2, 4]
    found = await progress(planning, id)
    assert (found.instants, found.planned, found.passed_over, found.live, found.reached) == (5, 3, 2, 3, found.ends_at)


async def test_what_is_passed_over_takes_nothing_of_its_pace(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    for hour in range(6):
        ran(db, job, hour)
    id = start(db, job, rate=1)
    assert await plan(planning, id, most=4) == Chunk(planned=0, more=True)
    assert await plan(planning, id, most=4) == Chunk(planned=2, more=False)
    assert planned(db, job) == [6, 7]


async def test_chunks_go_on_where_the_last_one_ended(db: Connection, job: UUID, planning: connect.Connection) -> None:
    id = start(db, job, rate=1000)
    while (await plan(planning, id, most=7)).more:
        pass
    assert planned(db, job) == list(range(24))


async def test_a_range_without_instants_is_finished_at_once(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = call(db, "backfill", job_id=job, starts_at=MARCH + HOUR / 4, ends_at=MARCH + HOUR / 2)
    assert (await plan(planning, id)).more
    assert (await plan(planning, id)).finished
    found = await progress(planning, id)
    assert (found.state, found.instants, found.planned) == ("finished", 0, 0)


async def test_it_is_finished_when_none_of_its_rows_is_live_any_more(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job, hours=2, rate=100)
    await plan(planning, id)
    await plan(planning, id)
    assert not (await plan(planning, id)).finished
    first, second = column(db, "select id from pgsched.executions where job_id = %s order by scheduled_for", [job])
    finish(db, first)
    finish(db, second, ended="failed")
    assert (await plan(planning, id)).finished
    found = await progress(planning, id)
    assert (found.state, found.live, found.finished, found.failed, found.cancelled) == ("finished", 0, 2, 1, 0)


async def test_late_rows_of_the_partition_go_first(db: Connection, job: UUID, planning: connect.Connection) -> None:
    id = start(db, job)
    late = value(
        db,
        "insert into pgsched.executions (fire_at, partition, target) select now() - interval '5 seconds',"
        " pgsched.partition_of(j), 'python:x' from pgsched.jobs j returning id",
    )
    assert await plan(planning, id) == Chunk()
    lease(db, late)
    assert (await plan(planning, id)).planned == 20


async def test_two_workers_plan_each_instant_once(
    db: Connection, job: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, job, rate=1000)
    other = await connect.connect(store_url, "other", raw=False)
    try:
        await asyncio.gather(*(plan_eight_chunks(each, id) for each in (planning, other)))
    finally:
        await other.close()
    while (await plan(planning, id)).more:
        pass
    assert planned(db, job) == list(range(24))
    assert (await progress(planning, id)).planned == 24


async def test_a_backfill_that_another_worker_has_in_hand_is_left_to_it(
    db: Connection, job: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, job)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.backfills where id = %s for update", [id])
        assert await plan(planning, id) == Chunk()
    assert (await plan(planning, id)).planned == 20


async def test_a_crash_within_a_chunk_leaves_nothing_of_it(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job)
    async with planning.transaction(force_rollback=True):
        assert (await plan(planning, id)).planned == 20
    assert planned(db, job) == []
    assert (await progress(planning, id)).reached is None


async def test_claiming_a_row_of_a_backfill_plans_no_successor(
    db: Connection, job: UUID, planning: connect.Connection, worker: connect.Connection
) -> None:
    await plan(planning, start(db, job, hours=1))
    claimed = await claim(worker)
    assert [found.plan for found in claimed.rows] == [0]
    assert claimed.planned == {}
    assert value(db, "select count(*) from pgsched.executions") == 1


async def test_a_row_handed_back_is_still_the_backfills(
    db: Connection, job: UUID, planning: connect.Connection, worker: connect.Connection
) -> None:
    id = start(db, job, hours=1)
    await plan(planning, id)
    claimed = await claim(worker)
    for found in claimed.rows:
        await executions.release(worker, found.partition, Group([found.id], [found.token]))
    call(db, "cancel_backfill", id=id)
    assert column(db, "select id from pgsched.executions") == []


async def test_bounds_by_age_do_not_hold_for_instants_long_past(db: Connection, planning: connect.Connection) -> None:
    job = schedule(
        db,
        every="1 hour",
        options={"relevant_for": "PT1M", "deadline": "PT2M", "max_retry_age": "PT3M", "timeout": "PT5S"},
    )
    db.execute("update pgsched.jobs set anchor = %s", [MARCH])
    await plan(planning, start(db, job, hours=1))
    assert row(db, "select options, scheduled_for from pgsched.executions") == ({"timeout": "PT5S"}, MARCH)


async def test_rules_hold_for_the_past_too(db: Connection, planning: connect.Connection) -> None:
    job = schedule(
        db,
        cron="0 * * * *",
        rules={"exclude": ["2026-03-01"], "also": [{"at": "2026-03-02T00:30:00Z"}], "jitter": "5m"},
    )
    id = start(db, job, hours=26, rate=100)
    while (await plan(planning, id)).more:
        pass
    found = column(db, "select scheduled_for from pgsched.executions where job_id = %s order by 1", [job])
    assert found == [MARCH + 24 * HOUR, MARCH + 24.5 * HOUR, MARCH + 25 * HOUR]


async def test_a_job_whose_schedule_makes_no_sense_any_more_ends_its_backfill(
    db: Connection, job: UUID, planning: connect.Connection
) -> None:
    id = start(db, job)
    db.execute("update pgsched.jobs set timezone = 'Atlantis/Capital'")
    chunk = await plan(planning, id)
    assert chunk.fault is not None
    assert "Atlantis" in chunk.fault
    assert (await progress(planning, id)).state == "cancelled"


async def test_a_range_is_measured_before_it_is_run(db: Connection, job: UUID, planning: connect.Connection) -> None:
    ran(db, job, 1)
    ran(db, job, 1)
    ran(db, job, 2, ended="failed")
    ran(db, job, 30)
    db.execute("update pgsched.history set scheduled_for = scheduled_for + interval '1 minute' where status = 'failed'")
    triggered = call(db, "trigger", job_id=job)
    db.execute("update pgsched.executions set scheduled_for = %s where id = %s", [MARCH + 3.5 * HOUR, triggered])
    finish(db, triggered)
    extent = await backfills.measure(planning, job, Range(start=MARCH, end=MARCH + 24 * HOUR))
    assert extent == Extent(instants=24, run_already=1)
    assert extent.to_run == 23


async def test_a_turn_looks_rarely_while_there_is_no_backfill(db: Connection, job: UUID, store_url: str) -> None:
    told: list[tuple[str, dict[str, Field]]] = []
    chores, link = Link(store_url, "chores"), Link(store_url, "backfill", raw=False)
    backfiller = Backfiller(chores, link, Events(lambda name, fields: told.append((name, fields))))
    assert await backfiller.turn() == 10.0
    id = start(db, job, hours=2)
    assert await backfiller.turn() == 1.0
    for found in column(db, "select id from pgsched.executions"):
        finish(db, found)
    assert await backfiller.turn() == 1.0
    assert told == [("backfill.finished", {"backfill": str(id)})]
    assert await backfiller.turn() == 10.0
    await chores.drop()
    await link.drop()


async def test_another_worker_finishes_what_one_began(
    db: Connection, job: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, job, rate=2)
    await plan(planning, id)
    other = await connect.connect(store_url, "other", raw=False)
    try:
        run_pace(db, id, 2)
        await plan(other, id)
    finally:
        await other.close()
    assert planned(db, job) == list(range(8))
    assert {status(db, found) for found in column(db, "select id from pgsched.executions")} == {"scheduled"}


async def plan_eight_chunks(planning: connect.Connection, id: UUID) -> None:
    for _ in range(8):
        await plan(planning, id, most=3)


async def claim(worker: connect.Connection) -> executions.Claimed:
    held = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(seconds=3))
    shares = [Share(partition, LONG_AGO, 100) for partition in range(16)]
    return await executions.claim(worker, held, shares, now=0)
