"""Jobs changed while their overdue row is being claimed: each instant is accounted for once."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from pgsched.store.live import executions
from pgsched.store.live.executions import Group
from tests.store.jobs.jobs_arrange import BEGAN, HOUR, claim, job, planned_row, waiting
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, schedule, value

pytestmark = pytest.mark.oldest_postgresql

LATER = BEGAN + timedelta(hours=3, minutes=30)
Change = Callable[[Session], object]


def overdue(db: Session, **columns: Any) -> UUID:
    """An hourly job whose waiting row is that of BEGAN."""
    hourly = job(db, key="hourly", **columns)
    planned_row(db, hourly, BEGAN)
    return hourly


async def claim_beside(db: Session, worker: Connection, store_url: str, change: Change) -> list[ClaimedExecution]:
    """Claim three hours late, after an earlier claim found the job locked by an open change. Return the rows."""
    with psycopg.connect(store_url) as changer:
        with psycopg.connect(store_url) as claiming:
            claiming.execute("select from pgsched.executions for update")  # so that the change skips its row
            change(changer)
            claiming.rollback()
        assert (await claim(worker, now=LATER)).rows == []
        changer.execute("update pgsched.jobs set updated_at = %s", [LATER])
        changer.commit()
    db.execute("update pgsched.executions set fire_at = scheduled_for")
    return (await claim(worker, now=LATER)).rows


async def claim_after(db: Session, worker: Connection, store_url: str, change: Change) -> list[ClaimedExecution]:
    """Claim after a change that skipped the row, and return the claimed rows."""
    pass_over(db, store_url, change)
    return (await claim(worker, now=LATER)).rows


def pass_over(db: Session, store_url: str, change: Change) -> None:
    """Make a change while another session, which then rolls back, has the row locked."""
    with psycopg.connect(store_url) as claiming:
        claiming.execute("select from pgsched.executions for update")
        change(db)
        claiming.rollback()
    db.execute("update pgsched.jobs set updated_at = %s", [LATER])


def account(db: Session) -> list[tuple[Any, ...]]:
    return db.execute(
        "select scheduled_for, last_scheduled_for, instants, reason from pgsched.history order by scheduled_for"
    ).fetchall()


async def test_a_pause_during_a_claim_records_missed_instants_as_paused(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    [run] = await claim_beside(
        db, worker, store_url, lambda session: call(session, "pause", kind="job", name=str(hourly))
    )
    assert run.nominal == BEGAN
    call(db, "resume", kind="job", name=str(hourly))
    db.execute("update pgsched.jobs set updated_at = %s", [LATER])
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert account(db) == [(BEGAN + HOUR, BEGAN + 3 * HOUR, 3, "paused")]
    assert value(db, "select max(scheduled_for) from pgsched.executions") == BEGAN + 4 * HOUR


async def test_a_claim_records_instants_missed_before_the_job_was_cancelled(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    [run] = await claim_beside(db, worker, store_url, lambda session: call(session, "cancel", id=hourly))
    assert run.nominal == BEGAN
    assert account(db) == [(BEGAN + HOUR, BEGAN + 3 * HOUR, 3, "job cancelled")]


async def test_a_later_claim_records_instants_missed_before_a_cancellation(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    [run] = await claim_after(db, worker, store_url, lambda session: call(session, "cancel", id=hourly))
    assert run.nominal == BEGAN
    assert account(db) == [(BEGAN + HOUR, BEGAN + 3 * HOUR, 3, "job cancelled")]


async def test_an_interval_edited_during_a_claim_counts_from_the_claimed_row(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    edit: Change = lambda session: schedule(session, target="python:x", every="45 minutes", key="hourly")  # noqa: E731
    assert len(await claim_beside(db, worker, store_url, edit)) == 1
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert (waiting(db, hourly), account(db)) == ([BEGAN + timedelta(minutes=45)], [])


async def test_rescheduling_the_same_interval_continues_from_the_claimed_row(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    again: Change = lambda session: schedule(session, target="python:y", every="1 hour", key="hourly")  # noqa: E731
    assert len(await claim_beside(db, worker, store_url, again)) == 1
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert (waiting(db, hourly), account(db)) == ([BEGAN + HOUR], [])


async def test_an_overlapping_row_of_a_just_paused_job_is_skipped(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    await claim(worker, now=BEGAN)
    assert (
        await claim_after(db, worker, store_url, lambda session: call(session, "pause", kind="job", name=str(hourly)))
        == []
    )
    assert account(db) == [(BEGAN + HOUR, None, None, "overlap")]


async def test_a_run_counts_towards_the_max_runs_limit_despite_a_racing_pause(
    db: Session, worker: Connection, store_url: str
) -> None:
    counted = overdue(db, rules={"max_runs": 1})
    assert (
        len(
            await claim_after(
                db, worker, store_url, lambda session: call(session, "pause", kind="job", name=str(counted))
            )
        )
        == 1
    )
    call(db, "resume", kind="job", name=str(counted))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert value(db, "select state::text from pgsched.jobs") == "finished"


async def test_an_unclaimed_row_skipped_by_a_pause_records_one_instant(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    pass_over(db, store_url, lambda session: call(session, "pause", kind="job", name=str(hourly)))
    call(db, "resume", kind="job", name=str(hourly))
    db.execute("update pgsched.jobs set updated_at = %s", [LATER])
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    call(db, "pause", kind="job", name=str(hourly))
    passed, paused, due = account(db)
    assert passed == (BEGAN, None, None, "paused")
    assert paused == (BEGAN + HOUR, BEGAN + 3 * HOUR, 3, "paused")
    assert due[0] == BEGAN + 4 * HOUR


async def test_a_finished_jobs_last_row_still_runs(db: Session, worker: Connection) -> None:
    overdue(db, state="finished")
    assert len((await claim(worker, now=datetime(2025, 3, 2, tzinfo=UTC))).rows) == 1
    assert account(db) == []


async def test_a_row_skipped_by_a_pause_and_an_edit_records_one_instant(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db)
    pass_over(db, store_url, lambda session: call(session, "pause", kind="job", name=str(hourly)))
    schedule(db, target="python:x", every="2 hours", key="hourly")
    assert account(db) == [(BEGAN, None, None, "replaced")]


async def test_a_cancelled_jobs_queued_row_records_missed_instants_once(
    db: Session, worker: Connection, store_url: str
) -> None:
    hourly = overdue(db, rules={"on_overlap": "queue_one"})
    db.execute("update pgsched.executions set scheduled_for = %(at)s, fire_at = %(at)s", {"at": BEGAN - HOUR})
    [first] = (await claim(worker, now=BEGAN - HOUR)).rows
    assert await claim_after(db, worker, store_url, lambda session: call(session, "cancel", id=hourly)) == []
    await executions.settle_succeeded(worker, None, {first.partition: Group([first.id], [first.token])})
    db.execute("update pgsched.executions set fire_at = scheduled_for")
    assert len((await claim(worker, now=LATER)).rows) == 1
    assert account(db)[1:] == [(BEGAN + HOUR, BEGAN + 3 * HOUR, 3, "job cancelled")]
