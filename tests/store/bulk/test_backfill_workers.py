"""Backfills among workers: who plans and claims their rows, what goes first, and what remains after a crash."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from pgsched.store.bulk.advancing import NOTHING
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.store.live import executions
from pgsched.store.live.executions import Group
from pgsched.telemetry import Events, Field
from pgsched.upkeep.bulk import Bulk
from tests.store.bulk.backfill_arrange import claim, plan, planned, progress, run_pace, start
from tests.store.store_arrange import Connection, call, column, finish, lease, status, value

pytestmark = pytest.mark.oldest_postgresql


async def test_a_backfill_waits_until_its_partition_has_no_late_rows(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly)
    late = value(
        db,
        "insert into pgsched.executions (fire_at, partition, target) select now() - interval '5 seconds',"
        " pgsched_internal.partition_of(j), 'python:x' from pgsched.jobs j returning id",
    )
    assert await plan(planning, id) == NOTHING
    lease(db, late)
    assert (await plan(planning, id)).done == 20


async def test_two_workers_plan_each_backfilled_instant_once(
    db: Connection, hourly: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=1000)
    other = await connect.connect(store_url, "other", raw=False)
    try:
        await asyncio.gather(*(plan_eight_chunks(each, id) for each in (planning, other)))
    finally:
        await other.close()
    async with asyncio.timeout(20):
        while (await progress(planning, id)).done < 24:  # the rate may delay the last rows
            db.execute(
                "update pgsched.executions set fire_at = now() + interval '1 hour'"
            )  # a backfill waits for late rows
            await plan(planning, id)
    assert planned(db, hourly) == list(range(24))


async def plan_eight_chunks(planning: connect.Connection, id: UUID) -> None:
    for _ in range(8):
        await plan(planning, id, most=3)


async def test_a_backfill_locked_by_another_worker_is_skipped(
    db: Connection, hourly: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, hourly)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.bulk_operations where id = %s for update", [id])
        assert await plan(planning, id) == NOTHING
    assert (await plan(planning, id)).done == 20


async def test_a_crash_rolls_back_the_whole_backfill_chunk(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly)
    async with planning.transaction(force_rollback=True):
        assert (await plan(planning, id)).done == 20
    assert planned(db, hourly) == []
    assert (await progress(planning, id)).total is None


async def test_claiming_a_backfilled_row_plans_no_successor(
    db: Connection, hourly: UUID, planning: connect.Connection, worker: connect.Connection
) -> None:
    await plan(planning, start(db, hourly, hours=1))
    claimed = await claim(worker)
    assert [found.plan for found in claimed.rows] == [0]
    assert claimed.planned == {}
    assert value(db, "select count(*) from pgsched.executions") == 1


async def test_stopping_a_backfill_cancels_released_rows_too(
    db: Connection, hourly: UUID, planning: connect.Connection, worker: connect.Connection
) -> None:
    id = start(db, hourly, hours=1)
    await plan(planning, id)
    claimed = await claim(worker)
    for found in claimed.rows:
        await executions.release(worker, found.partition, Group([found.id], [found.token]))
    call(db, "stop_bulk", id=id)
    assert column(db, "select id from pgsched.executions") == []


async def test_bulk_turns_are_less_frequent_if_no_backfill_is_active(
    db: Connection, hourly: UUID, store_url: str
) -> None:
    told: list[tuple[str, dict[str, Field]]] = []
    chores, link = Link(store_url, "chores"), Link(store_url, "bulk", raw=False)
    backfiller = Bulk(chores, link, Events(lambda name, fields: told.append((name, fields))))
    assert await backfiller.turn() == 10.0
    id = start(db, hourly, hours=2)
    assert await backfiller.turn() == 1.0
    for found in column(db, "select id from pgsched.executions"):
        finish(db, found)
    assert await backfiller.turn() == 1.0
    assert told == [("bulk.finished", {"operation": str(id), "action": "backfill"})]
    assert await backfiller.turn() == 10.0
    await chores.drop()
    await link.drop()


async def test_a_second_worker_can_continue_a_backfill(
    db: Connection, hourly: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=2)
    await plan(planning, id)
    other = await connect.connect(store_url, "other", raw=False)
    try:
        run_pace(db, id, 2)
        await plan(other, id)
    finally:
        await other.close()
    assert planned(db, hourly) == list(range(8))
    assert {status(db, found) for found in column(db, "select id from pgsched.executions")} == {"scheduled"}
