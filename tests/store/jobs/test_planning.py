"""Where planning continues: each instant is accounted for, even after a time without a planner."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection, Link
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.gates import gates
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from pgsched.telemetry import Events
from pgsched.upkeep import first_row_planner
from pgsched.upkeep.first_row_planner import Planner
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, finish, row, schedule, value

pytestmark = pytest.mark.oldest_postgresql

MINUTE = timedelta(minutes=1)


def account(db: Session, of: UUID) -> list[tuple[Any, ...]]:
    """(first, last, count, status, reason) of each row in history."""
    return db.execute(
        "select scheduled_for, last_scheduled_for, instants, status::text, reason from pgsched.history"
        " where job_id = %s order by 1",
        [of],
    ).fetchall()


def waiting_id(db: Session, of: UUID) -> UUID:
    id = value(db, "select id from pgsched.executions where job_id = %s and lease_token is null", [of])
    assert isinstance(id, UUID)
    return id


def some_minutes_ago(db: Session) -> datetime:
    """A moment in the middle of a minute; five minutes have begun since then."""
    moment = value(db, "select date_trunc('minute', pgsched.now()) - interval '4 minutes 30 seconds'")
    assert isinstance(moment, datetime)
    return moment


async def claim_ahead(db: Session, worker: Connection) -> list[ClaimedExecution]:
    lease = Lease(owner=1, token=7, length=MINUTE, ahead=timedelta(seconds=0.9))
    shares = [PartitionShare(partition, LONG_AGO, 100) for partition in range(16)]
    now = to_instant(value(db, "select pgsched.now()"))
    return (await executions.claim(worker, lease, shares, now=now)).rows


async def settle(worker: Connection, run: ClaimedExecution) -> None:
    await executions.settle_succeeded(worker, None, {run.partition: Group([run.id], [run.token])})


async def test_a_new_job_is_planned_from_its_creation_even_if_planned_late(db: Session, worker: Connection) -> None:
    made = some_minutes_ago(db)
    minutely = job(db, cron="* * * * *", accounted_to=made, planned_revision=0)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, minutely) == [made + timedelta(seconds=30)]


async def test_an_edited_job_is_planned_from_the_edit(db: Session, worker: Connection) -> None:
    minutely = schedule(db, cron="0 0 1 1 *", key="edited")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    schedule(db, cron="* * * * *", key="edited")
    edited = some_minutes_ago(db)
    db.execute("update pgsched.jobs set accounted_to = %s", [edited])
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, minutely) == [edited + timedelta(seconds=30)]


async def test_a_job_edited_before_planning_is_planned_from_its_creation(db: Session, worker: Connection) -> None:
    made = some_minutes_ago(db)
    edited = job(db, cron="0 0 1 1 *", key="edited", accounted_to=made, planned_revision=0)
    schedule(db, cron="* * * * *", key="edited")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, edited) == [made + timedelta(seconds=30)]


@pytest.mark.parametrize("state", ["finished", "invalid"])
async def test_a_reactivated_job_is_planned_from_its_reactivation(db: Session, worker: Connection, state: str) -> None:
    old = job(
        db, cron="* * * * *", key="old", accounted_to=BEGAN, state=state, planned_revision=int(state == "finished")
    )
    schedule(db, cron="* * * * *", key="old")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [instant] = waiting(db, old)
    assert instant > value(db, "select updated_at from pgsched.jobs")


async def test_planning_ignores_the_instant_of_a_triggered_run(db: Session, worker: Connection) -> None:
    late = job(db)
    planned_row(db, late, BEGAN)
    call(db, "trigger", job_id=late)
    db.execute("update pgsched.executions set fire_at = '1990-01-01' where plan is null")
    [run] = [run for run in (await claim(worker, batch=1)).rows if not run.plan]
    await settle(worker, run)
    call(db, "cancel", id=waiting_id(db, late))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, late) == [BEGAN + HOUR]


async def test_pausing_and_resuming_does_not_restore_a_run_cancelled_in_advance(
    db: Session, worker: Connection
) -> None:
    daily = job(db, cron="0 0 * * *")
    tomorrow = value(db, "select date_trunc('day', pgsched.now(), 'UTC') + interval '1 day'").astimezone(UTC)
    planned_row(db, daily, tomorrow)
    call(db, "cancel", id=waiting_id(db, daily))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    call(db, "pause", kind="job", name=str(daily))
    call(db, "resume", kind="job", name=str(daily))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, daily) == [tomorrow + timedelta(days=1)]
    assert account(db, daily) == [(tomorrow, None, None, "cancelled", "cancelled")]


async def test_paused_instants_are_recorded_from_the_last_cancelled_row(db: Session, worker: Connection) -> None:
    late = job(db)
    planned_row(db, late, BEGAN)
    call(db, "cancel", id=waiting_id(db, late))
    call(db, "pause", kind="job", name=str(late))
    call(db, "resume", kind="job", name=str(late))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    cancelled, paused = account(db, late)
    assert cancelled == (BEGAN, None, None, "cancelled", "cancelled")
    assert (paused[0], paused[1]) == (BEGAN + HOUR, waiting(db, late)[0] - HOUR)
    assert paused[3:] == ("skipped", "paused")


async def test_an_edit_after_cancelling_a_future_run_plans_from_the_edit(db: Session, worker: Connection) -> None:
    yearly = job(db, cron="0 0 1 1 *", key="yearly")
    planned_row(db, yearly, value(db, "select date_trunc('year', pgsched.now()) + interval '1 year'"))
    call(db, "cancel", id=waiting_id(db, yearly))
    schedule(db, cron="* * * * *", key="yearly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, yearly)[0] <= value(db, "select pgsched.now()") + MINUTE


async def test_a_run_claimed_before_a_pause_is_not_recorded_as_paused(db: Session, worker: Connection) -> None:
    ahead = value(db, "select pgsched.now() + interval '0.5 seconds'")
    secondly = job(db, every=timedelta(seconds=1), anchor=ahead)
    planned_row(db, secondly, ahead)
    [run] = await claim_ahead(db, worker)
    call(db, "pause", kind="job", name=str(secondly))
    call(db, "resume", kind="job", name=str(secondly))
    db.execute("update pgsched.jobs set updated_at = %s", [ahead + timedelta(seconds=2)])
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    paused = (ahead + timedelta(seconds=1), ahead + timedelta(seconds=2), 2, "skipped", "paused")
    assert account(db, secondly) == [paused]
    assert run.nominal == ahead


async def test_an_edit_plans_a_future_run_that_a_claim_postponed(db: Session, worker: Connection) -> None:
    ahead = value(db, "select date_trunc('second', pgsched.now()) + interval '1 hour'")
    hourly = job(db, anchor=ahead, key="hourly")
    planned_row(db, hourly, ahead - HOUR, revision=2)
    db.execute("update pgsched.executions set lease_token = 1, attempt = 1")
    planned_row(db, hourly, ahead)
    assert (await claim(worker, now=ahead, ahead=HOUR)).rows == []
    schedule(db, every="1 hour", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert (waiting(db, hourly), account(db, hourly)) == ([ahead], [])


async def test_cancelling_a_held_row_does_not_stop_planning_other_jobs(db: Session, worker: Connection) -> None:
    counted = job(db, rules={"after_completion": True})
    planned_row(db, counted, BEGAN)
    await claim(worker)
    call(db, "cancel", id=waiting_id(db, counted))
    other = job(db, planned_revision=0)
    assert (await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60))[:2] == (2, [])
    assert len(waiting(db, counted)) == len(waiting(db, other)) == 1


async def test_a_repaired_job_continues_after_its_last_instant_that_had_a_row(db: Session, worker: Connection) -> None:
    broken = job(db)
    planned_row(db, broken, BEGAN)
    await claim(worker)
    db.execute("delete from pgsched.executions where lease_token is null")
    assert (await unplanned_jobs.repair_jobs(worker)).jobs == 1
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, broken) == [BEGAN + HOUR]
    assert row(db, "select state::text, planned_revision from pgsched.jobs") == ("active", 1)


@pytest.mark.parametrize("how", ["hold", "release"])
async def test_a_repaired_job_does_not_repeat_held_or_released_runs(db: Session, worker: Connection, how: str) -> None:
    broken = job(db)
    planned_row(db, broken, BEGAN)
    [claimed] = (await claim(worker)).rows
    if how == "hold":
        await gates.hold(worker, [(claimed, "client:default")])
    else:
        await executions.release(worker, claimed.partition, Group([claimed.id], [claimed.token]))
    finish(db, UUID(bytes=claimed.id))
    db.execute("delete from pgsched.executions where lease_token is null")
    assert (await unplanned_jobs.repair_jobs(worker)).jobs == 1
    assert value(db, "select accounted_to from pgsched.jobs") == BEGAN
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, broken) == [BEGAN + HOUR]


async def test_a_limited_job_repair_returns_its_stopping_point(db: Session, worker: Connection) -> None:
    for _ in range(3):
        job(db)
    found, after = await unplanned_jobs.repair_jobs(worker, most=2)
    assert (found, after is None) == (2, False)
    assert await unplanned_jobs.repair_jobs(worker, after=after or unplanned_jobs.FIRST, most=2) == (1, None)


@pytest.mark.parametrize("plan", [None, 0], ids=["triggered", "backfilled"])
@pytest.mark.parametrize("ended", [True, False])
async def test_job_repair_ignores_triggered_and_backfilled_rows(
    db: Session, worker: Connection, plan: int | None, ended: bool
) -> None:
    broken = job(db)
    planned_row(db, broken, BEGAN)
    await claim(worker)
    later = call(db, "trigger", job_id=broken)
    db.execute("update pgsched.executions set plan = %s where id = %s", [plan, later])
    if ended:
        call(db, "cancel", id=later)
    db.execute("delete from pgsched.executions where plan > 0 and lease_token is null")
    assert (await unplanned_jobs.repair_jobs(worker)).jobs == 1
    assert value(db, "select accounted_to from pgsched.jobs") == BEGAN


async def test_rescheduling_an_unchanged_job_keeps_a_run_cancelled(db: Session, worker: Connection) -> None:
    hourly = schedule(db, target="python:x", every="1 hour", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [first] = waiting(db, hourly)
    call(db, "cancel", id=value(db, "select id from pgsched.executions"))
    schedule(db, target="python:x", every="1 hour", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [first + HOUR]


async def test_rescheduling_an_unchanged_paused_job_restores_no_cancelled_run(db: Session, worker: Connection) -> None:
    hourly = schedule(db, target="python:x", every="1 hour", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [first] = waiting(db, hourly)
    call(db, "cancel", id=value(db, "select id from pgsched.executions"))
    call(db, "pause", kind="job", name=str(hourly))
    schedule(db, target="python:x", every="1 hour", key="hourly")
    call(db, "resume", kind="job", name=str(hourly))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [first + HOUR]


async def test_editing_the_ordering_key_keeps_a_run_cancelled(db: Session, worker: Connection) -> None:
    hourly = schedule(db, target="python:x", every="1 hour", key="hourly")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [first] = waiting(db, hourly)
    call(db, "cancel", id=value(db, "select id from pgsched.executions"))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    call(db, "edit", id=hourly, changes={"ordering_key": "elsewhere"})
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, hourly) == [first + HOUR]


async def test_an_old_schedules_cancelled_run_does_not_delay_later_instants(db: Session, worker: Connection) -> None:
    edited = job(db, cron="0 0 1 1 *", key="edited")
    planned_row(db, edited, value(db, "select date_trunc('year', pgsched.now()) + interval '1 year'"))
    call(db, "cancel", id=waiting_id(db, edited))
    schedule(db, cron="* * * * *", key="edited")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    call(db, "pause", kind="job", name=str(edited))
    call(db, "resume", kind="job", name=str(edited))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert waiting(db, edited)[0] <= value(db, "select pgsched.now()") + MINUTE


async def test_a_run_claimed_before_a_pause_splits_the_recorded_paused_range(db: Session, worker: Connection) -> None:
    ahead = BEGAN + timedelta(seconds=0.4)
    edited = job(db, anchor=ahead)
    planned_row(db, edited, ahead)
    await claim(worker)
    db.execute(
        "update pgsched.jobs set every = '1 second', rules = %(rules)s, revision = 2,"
        " accounted_to = %(at)s - interval '0.9 s', paused_at = %(at)s, updated_at = %(at)s + interval '2 s'",
        {"at": ahead, "rules": Jsonb({"also": [{"cron": "* * * * * *"}]})},
    )
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert account(db, edited) == [
        (BEGAN, None, None, "skipped", "paused"),
        (BEGAN + timedelta(seconds=1), ahead + timedelta(seconds=2), 4, "skipped", "paused"),
    ]


async def test_every_clients_first_job_is_planned_before_any_clients_second_job(
    db: Session, worker: Connection
) -> None:
    of_many = [job(db, client_id="many", planned_revision=0) for _ in range(5)]
    of_one = job(db, client_id="one", planned_revision=0)
    assert await unplanned_jobs.plan_jobs(worker, batch=2, seconds=60) == (2, [], True)
    assert len(waiting(db, of_one)) == 1
    assert sum(len(waiting(db, many)) for many in of_many) == 1


async def test_existing_rows_of_new_jobs_are_read_once_per_batch(
    db: Session, worker: Connection, tmp_path: Path
) -> None:
    for _ in range(20):
        job(db, planned_revision=0)
    with (tmp_path / "sent").open("w+b") as sent:
        worker.pgconn.trace(sent.fileno())
        planned = await unplanned_jobs.plan_jobs(worker, batch=100, seconds=60)
        worker.pgconn.untrace()
        sent.seek(0)
        told = sent.read()
    assert (planned.jobs, told.count(b"plan: which instants within a second of a job's change")) == (20, 1)


async def test_a_turn_that_runs_out_of_time_leaves_jobs_for_the_next_turn(db: Session, worker: Connection) -> None:
    new = [job(db, planned_revision=0) for _ in range(3)]
    assert await unplanned_jobs.plan_jobs(worker, batch=10, seconds=0) == (1, [], True)
    assert sum(len(waiting(db, one)) for one in new) == 1
    assert await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60) == (2, [], False)


async def test_locked_jobs_are_planned_in_a_later_turn(db: Session, store_url: str, worker: Connection) -> None:
    locked, free = job(db, planned_revision=0), job(db, planned_revision=0)
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.jobs where id = %s for update", [locked])
        assert await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60) == (1, [], True)
        assert await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60) == (0, [], False)
    assert len(waiting(db, free)) == 1
    assert await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60) == (1, [], False)


async def test_a_planner_pauses_when_finding_instants_is_slow(db: Session, store_url: str) -> None:
    never = [{"cron": f"{minute} 2 * 3 SUN#2", "timezone": "America/New_York"} for minute in range(20)]
    for second in range(30):
        job(db, planned_revision=0, rules={"also": never, "exclude": [f"{second} * * * * *", "* * * * *"]})
    link = Link(store_url, "planner", raw=False)
    planner = Planner(link, Events(lambda name, fields: None))
    assert 0.1 < await planner.turn() < 4.0
    await link.drop()


async def test_a_planner_continues_immediately_if_finding_instants_is_quick(
    db: Session, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_row_planner, "_LONG", 1.0)  # a busy machine must not count as slow instants
    db.execute("insert into pgsched.jobs (target, every) select 'python:x', '1 day' from generate_series(1, 501)")
    link = Link(store_url, "planner", raw=False)
    planner = Planner(link, Events(lambda name, fields: None))
    assert await planner.turn() == 0.0
    await link.drop()
