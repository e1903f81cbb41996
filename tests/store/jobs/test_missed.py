"""Instants that passed while no worker claimed: which of them run, and how the others are recorded."""

import time
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, row, value

DAY_LATER = BEGAN + 24 * HOUR + timedelta(minutes=5)


def account(db: Session, of: UUID) -> list[tuple[Any, ...]]:
    """(first, last, count, reason) of each skipped row."""
    return db.execute(
        "select scheduled_for, last_scheduled_for, instants, reason from pgsched.history"
        " where job_id = %s and status = 'skipped' order by 1",
        [of],
    ).fetchall()


async def all_runs(db: Session, worker: Connection, now: datetime) -> list[datetime]:
    """Claim until nothing is due, ending each run before the next claim, and return the instants that ran."""
    seen: list[datetime] = []
    due = now + timedelta(milliseconds=1)  # a coalesced run fires shortly after the claim that creates it
    while value(db, "select count(*) from pgsched.executions where fire_at <= %s", [due]):
        seen += [run.nominal for run in (await claim(worker, now=now)).rows]
        db.execute("delete from pgsched.executions where lease_token is not null")
    return seen


def late(db: Session, **rules: object) -> UUID:
    """An hourly job whose row for BEGAN is waiting."""
    hourly = job(db, rules=rules) if rules else job(db)
    planned_row(db, hourly, BEGAN)
    return hourly


async def test_only_the_latest_missed_instant_runs_by_default(db: Session, worker: Connection) -> None:
    hourly = late(db)
    assert await all_runs(db, worker, DAY_LATER) == [BEGAN + 24 * HOUR]
    assert account(db, hourly) == [(BEGAN, BEGAN + 23 * HOUR, 24, "coalesced_into 2025-03-02T10:00:00Z")]
    assert waiting(db, hourly) == [BEGAN + 25 * HOUR]


async def test_with_on_missed_all_every_missed_instant_runs(db: Session, worker: Connection) -> None:
    hourly = late(db, on_missed="all")
    assert await all_runs(db, worker, DAY_LATER) == [BEGAN + n * HOUR for n in range(25)]
    assert account(db, hourly) == []


async def test_instants_older_than_the_catch_up_limit_are_recorded_as_missed(db: Session, worker: Connection) -> None:
    hourly = late(db, on_missed="all", catch_up="2h")
    assert await all_runs(db, worker, DAY_LATER) == [BEGAN + 23 * HOUR, BEGAN + 24 * HOUR]
    assert account(db, hourly) == [(BEGAN, BEGAN + 22 * HOUR, 23, "missed")]


async def test_the_catch_up_limit_separates_missed_from_coalesced_instants(db: Session, worker: Connection) -> None:
    hourly = late(db, catch_up="3h")
    assert await all_runs(db, worker, DAY_LATER) == [BEGAN + 24 * HOUR]
    assert account(db, hourly) == [
        (BEGAN, BEGAN + 21 * HOUR, 22, "missed"),
        (BEGAN + 22 * HOUR, BEGAN + 23 * HOUR, 2, "coalesced_into 2025-03-02T10:00:00Z"),
    ]


async def test_with_on_missed_skip_no_missed_instant_runs(db: Session, worker: Connection) -> None:
    hourly = late(db, on_missed="skip")
    assert await all_runs(db, worker, DAY_LATER) == []
    assert account(db, hourly) == [(BEGAN, BEGAN + 24 * HOUR, 25, "missed")]
    assert waiting(db, hourly) == [BEGAN + 25 * HOUR]


@pytest.mark.parametrize("policy", ["latest", "all", "skip"])
async def test_a_run_thirty_seconds_late_is_not_missed(db: Session, worker: Connection, policy: str) -> None:
    hourly = late(db, on_missed=policy)
    assert await all_runs(db, worker, BEGAN + timedelta(seconds=30)) == [BEGAN]
    assert account(db, hourly) == []


async def test_a_single_missed_instant_is_recorded_without_a_count(db: Session, worker: Connection) -> None:
    hourly = late(db, on_missed="skip")
    await claim(worker, now=BEGAN + timedelta(minutes=2))
    assert account(db, hourly) == [(BEGAN, None, None, "missed")]


async def test_a_year_of_missed_instants_is_recorded_as_one_counted_row(db: Session, worker: Connection) -> None:
    secondly = job(db, cron="* * * * * *", timezone="Europe/Berlin")
    planned_row(db, secondly, BEGAN)
    began = time.monotonic()
    year = timedelta(days=365)
    assert await all_runs(db, worker, BEGAN + year) == [BEGAN + year]
    assert time.monotonic() - began < 60  # instant by instant it would take hours
    assert account(db, secondly) == [
        (BEGAN, BEGAN + year - timedelta(seconds=1), 365 * 86_400, "coalesced_into 2026-03-01T10:00:00Z")
    ]
    assert value(db, "select count(*) from pgsched.history") == 1


async def test_a_missed_row_keeps_its_id_in_history(db: Session, worker: Connection) -> None:
    late(db, on_missed="skip")
    id = value(db, "select id from pgsched.executions")
    await claim(worker, now=DAY_LATER)
    assert value(db, "select id from pgsched.history where instants = 25") == id


async def paused_for_an_hour(db: Session, **rules: object) -> UUID:
    minutely = job(db, every=timedelta(minutes=1), rules=rules or None)
    call(db, "pause", kind="job", name=str(minutely))
    db.execute("update pgsched.jobs set accounted_to = accounted_to - interval '1 hour'")
    call(db, "resume", kind="job", name=str(minutely))
    return minutely


async def test_resuming_records_the_instants_missed_while_paused_as_one_row(db: Session, worker: Connection) -> None:
    minutely = await paused_for_an_hour(db)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [(first, last, count, reason)] = account(db, minutely)
    assert (count, reason, last - first) == (60, "paused", timedelta(minutes=59))
    assert waiting(db, minutely) == [last + timedelta(minutes=1)]
    assert value(db, "select paused_at from pgsched.jobs") is None


async def test_pausing_skips_a_late_row_and_covers_instants_up_to_the_pause(db: Session) -> None:
    hourly = late(db)
    call(db, "pause", kind="job", name=str(hourly))
    [(first, last, count, reason)] = account(db, hourly)
    assert (first, count, reason) == (BEGAN, None, "paused")
    assert last == value(db, "select paused_at from pgsched.jobs")


async def test_a_job_finishes_when_it_reaches_its_max_runs_limit(db: Session, worker: Connection) -> None:
    hourly = late(db, on_missed="all", max_runs=3)
    assert await all_runs(db, worker, DAY_LATER) == [BEGAN, BEGAN + HOUR, BEGAN + 2 * HOUR]
    assert row(db, "select state::text, reason, runs from pgsched.jobs") == ("finished", "max_runs", 3)
    assert waiting(db, hourly) == []


async def test_skipped_instants_do_not_count_towards_the_max_runs_limit(db: Session, worker: Connection) -> None:
    hourly = late(db, max_runs=1)
    await claim(worker, now=DAY_LATER)
    assert row(db, "select state::text, runs from pgsched.jobs") == ("active", 0)
    assert waiting(db, hourly) == [BEGAN + 24 * HOUR]


async def test_planning_finishes_a_job_that_has_reached_its_max_runs_limit(db: Session, worker: Connection) -> None:
    job(db, rules={"max_runs": 3}, runs=3, planned_revision=0)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert row(db, "select state::text, reason from pgsched.jobs") == ("finished", "max_runs")


async def test_a_job_finishes_when_no_instant_is_left_before_its_end(db: Session, worker: Connection) -> None:
    hourly = late(db, ends_at="2025-03-01T10:30:00Z")
    assert await all_runs(db, worker, BEGAN) == [BEGAN]
    assert row(db, "select state::text, reason from pgsched.jobs") == (
        "finished",
        "no further instants",
    )
    assert waiting(db, hourly) == []


async def test_jitter_moves_the_start_but_not_the_instant(db: Session, worker: Connection) -> None:
    hourly = late(db, jitter="30m")
    await claim(worker, now=BEGAN)
    nominal, fire_at = row(
        db, "select scheduled_for, fire_at from pgsched.executions where lease_token is null and job_id = %s", [hourly]
    )
    assert nominal == BEGAN + HOUR
    assert nominal < fire_at < nominal + timedelta(minutes=30)


async def test_a_run_with_a_window_starts_in_the_windows_emptiest_minute(db: Session, worker: Connection) -> None:
    hourly = late(db, window="16m")
    for minute in range(16):  # every minute of the successor's window is taken except the twelfth
        if minute != 11:
            busy = job(db, rules={"on_overlap": "allow"})
            at = BEGAN + HOUR + timedelta(minutes=minute, seconds=30)
            planned_row(db, busy, at)
            db.execute("delete from pgsched.executions where job_id = %s", [busy])
            db.execute(
                "insert into pgsched.executions (fire_at, target, partition)"
                " select %s, 'python:x', pgsched_internal.partition_of(j) from pgsched.jobs j where j.id = %s",
                [at, hourly],
            )
    await claim(worker, now=BEGAN)
    fire_at = value(db, "select fire_at from pgsched.executions where job_id = %s and lease_token is null", [hourly])
    assert timedelta(minutes=11) <= fire_at - (BEGAN + HOUR) < timedelta(minutes=12)


async def test_with_after_completion_the_next_row_is_held_until_the_run_ends(db: Session, worker: Connection) -> None:
    hourly = late(db, after_completion=True)
    [run] = (await claim(worker, now=DAY_LATER)).rows
    found = row(
        db,
        "select e.fire_at = 'infinity', e.scheduled_for, e.plan, d.after_id, d.outcome, d.delay"
        " from pgsched.executions e join pgsched.dependencies d on d.execution_id = e.id where e.job_id = %s",
        [hourly],
    )
    assert found == (True, None, 1, UUID(bytes=run.id), "any", HOUR)
    assert value(db, "select awaited from pgsched.executions where id = %s", [UUID(bytes=run.id)])


async def test_a_coalesced_run_claimed_late_is_not_coalesced_again(db: Session, worker: Connection) -> None:
    secondly = job(db, every=timedelta(seconds=1))
    planned_row(db, secondly, BEGAN)
    now, runs = BEGAN + timedelta(seconds=10), []
    for _ in range(4):  # each claim comes five seconds after its row was planned
        runs.append([run.nominal for run in (await claim(worker, now=now)).rows])
        db.execute("delete from pgsched.executions where lease_token is not null")
        now += timedelta(seconds=5)
    assert [len(found) for found in runs] == [0, 1, 0, 1]
    assert runs[1] == [BEGAN + timedelta(seconds=10)]
