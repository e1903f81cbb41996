"""Running a backfill in chunks: which instants get a row, when it fires, and when the backfill is finished."""

from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from pgsched.store.bulk import starting
from pgsched.store.bulk.operation_types import BulkAsked, Chunk, Runs
from pgsched.store.core import connect
from pgsched.store.core.connect import Link
from pgsched.store.lookup.filters import filter_json
from pgsched.telemetry import Events
from pgsched.upkeep.bulk import Bulk
from tests.store.bulk.backfill_arrange import HOUR, MARCH, plan, planned, progress, ran, run_pace, start
from tests.store.bulk.bulk_arrange import backfill
from tests.store.store_arrange import Connection, call, column, finish, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql


async def test_a_backfill_plans_at_most_two_seconds_ahead(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=3)
    assert (await plan(planning, id)).done == 6
    assert (await plan(planning, id)).done <= 1  # one more if a third of a second has passed
    run_pace(db, id, 1.0)
    assert (await plan(planning, id)).done in {3, 4}
    assert 9 <= len(planned(db, hourly)) <= 11


async def test_backfilled_rows_fire_at_the_given_rate_starting_now(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=2)
    await plan(planning, id)
    fires = column(db, "select fire_at from pgsched.executions where job_id = %s order by scheduled_for", [hourly])
    assert [later - earlier for earlier, later in pairwise(fires)] == [timedelta(seconds=0.5)] * 3
    assert value(db, "select now() - %s < interval '10 seconds'", [fires[0]])


async def test_a_backfill_rate_below_one_plans_one_row_at_a_time(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=0.01)
    assert (await plan(planning, id)).done == 1
    assert (await plan(planning, id)).done == 0
    run_pace(db, id, 99)
    assert (await plan(planning, id)).done == 1


async def test_a_backfill_skips_succeeded_and_scheduled_instants(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    ran(db, hourly, 1)
    ran(db, hourly, 2, ended="failed")
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, partition, target)"
        " select now() + interval '1 hour', %s, j.id, pgsched_internal.partition_of(j), j.target from pgsched.jobs j",
        [MARCH + 3 * HOUR],
    )
    id = start(db, hourly, hours=5, rate=100)
    assert (await plan(planning, id)).more
    await plan(planning, id)
    assert planned(db, hourly) == [0, 2, 4]
    found = await progress(planning, id)
    assert (found.total, found.done, found.skipped) == (5, 3, 2)
    assert found.runs == Runs(live=3, finished=0, failed=0, cancelled=0)


async def test_skipped_instants_do_not_count_towards_the_rate(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    for hour in range(6):
        ran(db, hourly, hour)
    id = start(db, hourly, rate=1)
    assert await plan(planning, id, most=4) == Chunk(0, more=True, finished=False)
    assert await plan(planning, id, most=4) == Chunk(2, more=False, finished=False)
    assert planned(db, hourly) == [6, 7]


async def test_a_backfill_chunk_continues_where_the_previous_chunk_ended(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly, rate=1000)
    while (await plan(planning, id, most=7)).more:
        pass
    assert planned(db, hourly) == list(range(24))


async def test_a_backfill_without_instants_finishes_immediately(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = backfill(db, hourly, MARCH + HOUR / 4, MARCH + HOUR / 2)
    assert (await plan(planning, id)).more
    assert (await plan(planning, id)).finished
    found = await progress(planning, id)
    assert (found.state, found.total, found.done) == ("finished", 0, 0)


async def test_a_backfill_finishes_when_its_last_run_ends(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    id = start(db, hourly, hours=2, rate=100)
    await plan(planning, id)
    await plan(planning, id)
    assert not (await plan(planning, id)).finished
    first, second = column(db, "select id from pgsched.executions where job_id = %s order by scheduled_for", [hourly])
    finish(db, first)
    finish(db, second, ended="failed")
    assert (await plan(planning, id)).finished
    found = await progress(planning, id)
    assert (found.state, found.runs) == ("finished", Runs(live=0, finished=2, failed=1, cancelled=0))


async def test_backfilled_rows_drop_options_that_limit_their_age(db: Connection, planning: connect.Connection) -> None:
    job = schedule(
        db,
        every="1 hour",
        options={"relevant_for": "PT1M", "deadline": "PT2M", "max_retry_age": "PT3M", "timeout": "PT5S"},
    )
    db.execute("update pgsched.jobs set anchor = %s", [MARCH])
    await plan(planning, start(db, job, hours=1))
    assert row(db, "select options, scheduled_for from pgsched.executions") == ({"timeout": "PT5S"}, MARCH)


async def test_a_backfill_follows_the_jobs_exclude_and_also_rules(db: Connection, planning: connect.Connection) -> None:
    job = schedule(
        db,
        cron="0 * * * *",
        rules={"exclude": ["2026-03-01"], "also": [{"fire_at": "2026-03-02T00:30:00Z"}], "jitter": "5m"},
    )
    id = start(db, job, hours=26, rate=100)
    while (await plan(planning, id)).more:
        pass
    found = column(db, "select scheduled_for from pgsched.executions where job_id = %s order by 1", [job])
    assert found == [MARCH + 24 * HOUR, MARCH + 24.5 * HOUR, MARCH + 25 * HOUR]


async def test_a_schedule_that_becomes_invalid_stops_the_backfill(
    db: Connection, hourly: UUID, store_url: str, planning: connect.Connection
) -> None:
    id = start(db, hourly)
    db.execute("update pgsched.jobs set timezone = 'Atlantis/Capital'")
    told: list[tuple[str, Any]] = []
    chores, link = Link(store_url, "chores"), Link(store_url, "bulk", raw=False)
    await Bulk(chores, link, Events(lambda name, fields: told.append((name, fields["action"])))).turn()
    await chores.drop()
    await link.drop()
    assert told == [("bulk.given_up", "backfill")]
    found = await progress(planning, id)
    assert (found.state, "Atlantis" in str(found.reason)) == ("stopped", True)


async def test_a_dry_run_counts_instants_and_starts_no_backfill(
    db: Connection, hourly: UUID, planning: connect.Connection
) -> None:
    ran(db, hourly, 1)
    ran(db, hourly, 1)
    ran(db, hourly, 2, ended="failed")
    ran(db, hourly, 30)
    db.execute("update pgsched.history set scheduled_for = scheduled_for + interval '1 minute' where status = 'failed'")
    triggered = call(db, "trigger", job_id=hourly)
    db.execute("update pgsched.executions set scheduled_for = %s where id = %s", [MARCH + 3.5 * HOUR, triggered])
    finish(db, triggered)
    filter = filter_json({"job": hourly, "start": MARCH, "end": MARCH + 24 * HOUR})
    found = await starting.ask(planning, "backfill", filter, dry_run=True)
    assert found == BulkAsked(id=None, matched=24, complete=True, skipped=1)
    assert column(db, "select id from pgsched.bulk_operations") == []
