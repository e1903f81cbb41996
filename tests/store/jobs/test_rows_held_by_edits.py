"""How changes of a job affect a run whose instant has passed but which has not begun."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.start_jitter import identity_of, jittered
from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, on_job, row, value

pytestmark = pytest.mark.oldest_postgresql

SPREAD = [{"jitter": "1h"}, {"window": "1h"}]


def now(db: Session) -> datetime:
    found = value(db, "select pgsched.now()")
    assert isinstance(found, datetime)
    return found


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def key_that_starts(instant: datetime, low: int, high: int) -> str:
    """A key for which an hour's jitter gives a start between ``low`` and ``high`` minutes after the instant."""
    return next(
        key
        for key in map(str, range(10_000))
        if minutes(low)
        < jittered(identity_of("default", key, ""), instant, HOUR, instant + HOUR) - instant
        < minutes(high)
    )


def between(
    db: Session, rules: dict[str, Any], starts: tuple[int, int] = (20, 55), **columns: Any
) -> tuple[UUID, UUID, datetime]:
    """An hourly job whose first instant was ten minutes ago and whose run has not started. Returns both ids and the
    instant. Jitter draws the start from ``starts``, in minutes after the instant."""
    instant = now(db) - minutes(10)
    hourly = job(db, anchor=instant, rules=rules, key=key_that_starts(instant, *starts), **columns)
    planned_row(db, hourly, instant, fire_at=now(db) + minutes(5))
    return hourly, value(db, "select id from pgsched.executions"), instant


def rows(db: Session) -> list[tuple[Any, ...]]:
    """Return (id, instant, is held, has the current plan) of each waiting row."""
    return db.execute(
        "select e.id, e.scheduled_for, e.fire_at = 'infinity', e.plan = j.revision"
        " from pgsched.executions e join pgsched.jobs j on j.id = e.job_id order by 2"
    ).fetchall()


@pytest.mark.parametrize(
    "changes",
    [
        {"ordering_key": "shop-7"},
        {"queue": "other"},
        {"rules": {"jitter": "1h", "max_runs": 5}},
        {"rules": {"jitter": "1h", "ends_at": "8000-01-01T00:00:00Z"}},
        {"rules": {"jitter": "1h", "exclude": ["2020-12-25"]}},
        {"rules": {"jitter": "2h"}},
        {"rules": {"window": "1h"}},
        {"rules": None},
        {"every": "30m"},
        {"timezone": "Europe/Berlin"},
    ],
    ids=str,
)
async def test_an_edit_keeps_a_run_whose_instant_has_passed(
    db: Session, worker: Connection, changes: dict[str, Any]
) -> None:
    if "queue" in changes:
        call(db, "create_queue", name="other")
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes=changes)
    assert rows(db) == [(id, instant, True, False)]
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db) == [(id, instant, False, True)]
    assert value(db, "select ordering_key from pgsched.executions") == changes.get("ordering_key")
    assert value(db, "select count(*) from pgsched.history") == 0


async def test_replanning_from_scratch_finds_a_run_held_by_an_edit(db: Session, worker: Connection) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes={"every": "30m"})
    db.execute("update pgsched.jobs set planned_revision = 0")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db) == [(id, instant, False, True)]


async def test_rescheduling_a_job_keeps_a_run_whose_instant_has_passed(db: Session, worker: Connection) -> None:
    call(db, "schedule", target="python:x", cron="* * * * *", rules={"jitter": "50s"}, key="minutely")
    minutely = value(db, "select id from pgsched.jobs")
    db.execute("update pgsched.jobs set planned_revision = 1")
    instant = value(db, "select date_trunc('minute', pgsched.now())")
    planned_row(db, minutely, instant, fire_at=now(db) + minutes(1))
    call(db, "schedule", target="python:y", cron="*/1 * * * *", rules={"jitter": "59s"}, key="minutely")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert row(db, "select scheduled_for, target, plan from pgsched.executions") == (instant, "python:y", 2)


async def test_an_edit_keeps_an_unclaimed_due_run(db: Session, worker: Connection) -> None:
    hourly = job(db)
    planned_row(db, hourly, BEGAN)
    call(db, "edit", id=hourly, changes={"rules": {"max_runs": 100, "on_missed": "all", "on_overlap": "allow"}})
    assert (await claim(worker)).rows == []
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [run] = (await claim(worker)).rows
    assert run.nominal == BEGAN
    assert rows(db)[-1][1] == BEGAN + HOUR


async def test_an_edit_keeps_a_run_queued_behind_the_previous_run(db: Session, worker: Connection) -> None:
    hourly = job(db, rules={"on_overlap": "queue_one"})
    planned_row(db, hourly, BEGAN)
    db.execute("update pgsched.executions set attempt = 1, lease_token = 1, lease_owner = 1, lease_expires_at = now()")
    planned_row(db, hourly, BEGAN + HOUR)
    await claim(worker)
    assert value(db, "select count(*) from pgsched.dependencies") == 1
    call(db, "edit", id=hourly, changes={"rules": {"on_overlap": "queue_one", "max_runs": 100}})
    assert value(db, "select count(*) from pgsched.dependencies") == 0
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db)[-1][1:] == (BEGAN + HOUR, False, True)


async def test_a_held_run_missing_from_the_edited_schedule_is_skipped(db: Session, worker: Connection) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes={"anchor": (instant + minutes(5)).isoformat()})
    edited = value(db, "select updated_at from pgsched.jobs")
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    found = row(db, "select id, scheduled_for, last_scheduled_for, status::text, reason from pgsched.history")
    assert found == (id, instant, edited, "skipped", "edited")
    assert [one[1:] for one in rows(db)] == [(instant + minutes(65), False, True)]


async def test_a_held_run_beyond_the_edited_max_runs_limit_is_skipped(db: Session, worker: Connection) -> None:
    hourly, id, _ = between(db, {"jitter": "1h"}, runs=3)
    call(db, "edit", id=hourly, changes={"rules": {"jitter": "1h", "max_runs": 3}})
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert row(db, "select id, reason from pgsched.history") == (id, "edited")
    assert value(db, "select state::text from pgsched.jobs") == "finished"


@pytest.mark.parametrize("rules", SPREAD, ids=str)
async def test_a_run_delayed_by_jitter_or_a_window_survives_a_short_pause(
    db: Session, worker: Connection, rules: dict[str, str]
) -> None:
    hourly, id, instant = between(db, rules)
    call(db, "pause", kind="job", name=str(hourly))
    assert rows(db) == [(id, instant, True, False)]
    call(db, "resume", kind="job", name=str(hourly))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db) == [(id, instant, False, True)]
    earliest = instant if "window" in rules else now(db)  # a window's start is chosen again and may be now
    assert value(db, "select fire_at >= %s from pgsched.executions", [earliest]) is True


@pytest.mark.parametrize("rules", SPREAD, ids=str)
async def test_an_instant_within_a_pause_runs_if_it_starts_after_the_pause(
    db: Session, worker: Connection, rules: dict[str, str]
) -> None:
    hourly, _, instant = between(db, rules)
    db.execute("delete from pgsched.executions")
    db.execute("update pgsched.jobs set anchor = anchor - interval '5 hours'")
    call(db, "pause", kind="job", name=str(hourly))
    db.execute("update pgsched.jobs set accounted_to = %s, paused_at = %s", [instant - 3 * HOUR, instant - 3 * HOUR])
    call(db, "resume", kind="job", name=str(hourly))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert [one[1:] for one in rows(db)] == [(instant, False, True)]
    paused = row(db, "select scheduled_for, last_scheduled_for, instants, reason from pgsched.history")
    assert paused == (instant - 2 * HOUR, instant - HOUR, 2, "paused")


async def test_a_run_whose_start_passed_during_a_pause_is_skipped(db: Session, worker: Connection) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"}, starts=(0, 9))
    call(db, "pause", kind="job", name=str(hourly))
    assert rows(db) == [(id, instant, True, False)]
    call(db, "resume", kind="job", name=str(hourly))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert row(db, "select id, scheduled_for, status::text, reason from pgsched.history") == (
        id,
        instant,
        "skipped",
        "paused",
    )
    assert [one[1:] for one in rows(db)] == [(instant + HOUR, False, True)]


async def test_pausing_a_job_skips_its_due_run(db: Session) -> None:
    hourly = job(db)
    planned_row(db, hourly, BEGAN)
    call(db, "pause", kind="job", name=str(hourly))
    assert row(db, "select scheduled_for, status::text, reason from pgsched.history") == (BEGAN, "skipped", "paused")


async def test_a_held_run_survives_several_edits_and_a_pause(db: Session, worker: Connection) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes={"ordering_key": "shop-7"})
    call(db, "pause", kind="job", name=str(hourly))
    call(db, "edit", id=hourly, changes={"rules": {"jitter": "1h", "max_runs": 5}})
    call(db, "resume", kind="job", name=str(hourly))
    call(db, "edit", id=hourly, changes={"target": "python:y"})
    assert rows(db) == [(id, instant, True, False)]
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db) == [(id, instant, False, True)]
    assert value(db, "select count(*) from pgsched.history") == 0


@pytest.mark.parametrize("change", ["pause", "edit"])
def test_cancelling_a_job_records_its_held_run_as_skipped(db: Session, change: str) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, change, **on_job(change, hourly), **({"changes": {"every": "30m"}} if change == "edit" else {}))
    call(db, "cancel", id=hourly)
    found = row(db, "select id, scheduled_for, status::text, reason from pgsched.history")
    assert found == (id, instant, "skipped", "job cancelled")


async def test_a_held_run_can_be_cancelled(db: Session, worker: Connection) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes={"every": "30m"})
    call(db, "cancel", id=id)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert [one[1:] for one in rows(db)] == [(instant + HOUR / 2, False, True)]
    assert row(db, "select id, status::text from pgsched.history") == (id, "cancelled")


async def test_a_locked_held_run_is_planned_after_its_lock_is_released(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly, id, instant = between(db, {"jitter": "1h"})
    call(db, "edit", id=hourly, changes={"every": "30m"})
    with psycopg.connect(store_url) as other:
        other.execute("select from pgsched.executions for update")
        await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
        assert rows(db) == [(id, instant, True, False)]
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db) == [(id, instant, False, True)]


async def test_dependents_of_a_run_held_by_an_edit_keep_waiting(db: Session, worker: Connection) -> None:
    hourly, id, _ = between(db, {"jitter": "1h"})
    call(db, "schedule", target="python:y", after=[str(id)])
    call(db, "edit", id=hourly, changes={"ordering_key": "shop-7"})
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert row(db, "select awaited from pgsched.executions where id = %s", [id]) == (True,)
    assert value(db, "select after_id from pgsched.dependencies") == id


def test_a_run_held_by_a_pause_loses_its_place_in_the_ordering_key(db: Session) -> None:
    hourly, id, _ = between(db, {"jitter": "1h"}, ordering_key="shop-7")
    db.execute("update pgsched.executions set ordering_key = 'shop-7', at_head = true")
    call(db, "pause", kind="job", name=str(hourly))
    assert row(db, "select ordering_key, at_head from pgsched.executions where id = %s", [id]) == (None, None)


async def held_of(db: Session, worker: Connection, **columns: Any) -> tuple[UUID, UUID]:
    """An hourly job whose run of ten minutes ago was claimed and is held at a gate. Returns both ids."""
    instant = now(db) - minutes(10)
    hourly = job(db, anchor=instant, **columns)
    planned_row(db, hourly, instant)
    [run] = (await claim(worker)).rows
    db.execute(
        "update pgsched.executions set fire_at = 'infinity', gate = 'client:default', attempt = 0, plan = -abs(plan),"
        " lease_owner = null, lease_token = null, lease_expires_at = null where id = %s",
        [run.uuid],
    )
    return hourly, UUID(run.uuid)


@pytest.mark.parametrize(("verb", "reason"), [("cancel", "job cancelled"), ("pause", "paused")])
async def test_pausing_or_cancelling_a_job_skips_its_run_held_at_a_gate(
    db: Session, worker: Connection, verb: str, reason: str
) -> None:
    hourly, id = await held_of(db, worker)
    call(db, verb, **on_job(verb, hourly))
    assert db.execute("select id, status::text, reason from pgsched.history").fetchall() == [(id, "skipped", reason)]
    assert value(db, "select count(*) from pgsched.executions") == 0


async def test_an_edit_updates_a_run_held_at_a_gate(db: Session, worker: Connection) -> None:
    hourly, id = await held_of(db, worker)
    call(db, "edit", id=hourly, changes={"target": "python:other", "payload": {"n": 2}})
    held = "select target, payload, gate from pgsched.executions where id = %s"
    assert db.execute(held.encode(), [id]).fetchone() == ("python:other", {"n": 2}, "client:default")


async def test_cancelling_a_job_keeps_a_held_run_that_has_begun_already(db: Session, worker: Connection) -> None:
    hourly, id = await held_of(db, worker)
    db.execute("update pgsched.executions set uncounted = 1 where id = %s", [id])
    db.execute("select pgsched.cancel(%s)", [hourly])
    assert value(db, "select count(*) from pgsched.executions") == 1
