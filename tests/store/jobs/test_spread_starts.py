"""Durations that count from a run's start, which jitter or a window sets, and not from its instant."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.jobs_arrange import HOUR, claim, job
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import call, row, value

pytestmark = pytest.mark.oldest_postgresql

SPREADS = [{"jitter": "1h"}, {"window": "1h"}]


def spread_job(db: Session, rules: dict[str, str], **columns: object) -> UUID:
    """A new hourly job whose next run starts later than its instant."""
    return job(
        db, anchor=value(db, "select pgsched.now() + interval '1 minute'"), rules=rules, planned_revision=0, **columns
    )


def rows(db: Session) -> list[tuple[datetime, datetime, datetime | None]]:
    """(instant, fire_at, start) of each waiting row."""
    return db.execute(
        "select scheduled_for, fire_at, start_at from pgsched.executions where lease_token is null order by 1"
    ).fetchall()


async def claimed_late(
    db: Session, worker: Connection, options: dict[str, str], *, after_start: str
) -> ClaimedExecution:
    """Claim a run an hour after its instant and ``after_start`` after its start."""
    spread_job(db, {"jitter": "1h"}, options=Jsonb(options))
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    db.execute(
        "update pgsched.executions set scheduled_for = pgsched.now() - interval '1 hour',"
        " start_at = pgsched.now() - %s::interval, fire_at = pgsched.now() - %s::interval",
        [after_start, after_start],
    )
    [run] = (await claim(worker)).rows
    return run


@pytest.mark.parametrize("rules", SPREADS, ids=str)
async def test_jitter_or_a_window_delays_a_planned_rows_start(
    db: Session, worker: Connection, rules: dict[str, str]
) -> None:
    spread_job(db, rules)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    [(instant, fires, start)] = rows(db)
    assert start == fires
    assert instant < fires < instant + HOUR


@pytest.mark.parametrize("rules", SPREADS, ids=str)
async def test_jitter_or_a_window_delays_a_successors_start(
    db: Session, worker: Connection, rules: dict[str, str]
) -> None:
    spread_job(db, rules)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    db.execute("update pgsched.executions set fire_at = pgsched.now()")
    assert len((await claim(worker)).rows) == 1
    [(instant, fires, start)] = rows(db)
    assert start == fires
    assert instant < fires < instant + HOUR


async def test_a_row_without_jitter_or_a_window_has_no_separate_start(db: Session, worker: Connection) -> None:
    job(db, planned_revision=0)
    await unplanned_jobs.plan_jobs(worker, batch=10, seconds=60)
    assert rows(db)[0][2] is None
    db.execute("update pgsched.executions set fire_at = pgsched.now()")
    [run] = (await claim(worker)).rows
    assert (run.start_at, run.start) == (None, run.scheduled_for)


async def test_a_claimed_runs_age_counts_from_its_start(db: Session, worker: Connection) -> None:
    run = await claimed_late(db, worker, {"relevant_for": "10s"}, after_start="2 seconds")
    assert run.start - run.scheduled_for == (HOUR - timedelta(seconds=2)) // timedelta(microseconds=1)


@pytest.mark.parametrize("option", ["relevant_for", "deadline", "max_retry_age"])
def test_a_pulled_runs_age_counts_from_its_start(db: Session, option: str) -> None:
    queue = f"pulled_{option}"
    call(db, "create_queue", name=queue, changes={"pulled": True})
    call(db, "schedule", target="queue:", queue=queue, options={option: "10m", "backoff": ["1s"]})
    db.execute(
        "update pgsched.executions set scheduled_for = pgsched.now() - interval '1 hour',"
        " start_at = pgsched.now() - interval '1 minute', fire_at = pgsched.now() - interval '1 minute'"
    )
    id, token = row(db, "select id, token from pgsched.claim(%s, 'somebody')", [queue])
    assert call(db, "fail", id=id, token=token, error="busy") == "retrying"


def test_a_row_released_by_its_ordering_key_fires_at_its_start_time(db: Session) -> None:
    call(db, "schedule", target="python:x", ordering_key="o")
    db.execute(
        "update pgsched.executions set gate = 'order', fire_at = 'infinity',"
        " scheduled_for = pgsched.now() - interval '1 hour', start_at = pgsched.now() + interval '1 minute'"
    )
    db.execute("select pgsched_internal.let_next(e.partition, e.client_id, e.ordering_key) from pgsched.executions e")
    assert value(db, "select fire_at = start_at from pgsched.executions") is True
