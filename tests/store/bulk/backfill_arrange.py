"""Arrange and advance backfills of the first of March, and look at what they planned."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from pgsched.store.bulk import advancing
from pgsched.store.bulk.operation_types import BulkDetail, Chunk
from pgsched.store.core import connect
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import executions
from pgsched.store.live.executions import Lease, PartitionShare
from pgsched.store.lookup import bulk_pages
from tests.store.bulk.bulk_arrange import backfill
from tests.store.store_arrange import Connection, column, finish, value

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def start(db: Connection, job: UUID, *, hours: int = 24, rate: float = 10) -> UUID:
    """Start a backfill of the first hours of March."""
    return backfill(db, job, MARCH, MARCH + hours * HOUR, rate=rate)


async def plan(planning: connect.Connection, id: UUID, *, most: int = 250) -> Chunk:
    return await advancing.plan_chunk(planning, id, most=most)


async def progress(planning: connect.Connection, id: UUID) -> BulkDetail:
    return await bulk_pages.get_detail(planning, id)


def planned(db: Connection, job: UUID) -> list[int]:
    """Return the hours since the first of March that have a row of a backfill."""
    found = column(
        db, "select scheduled_for from pgsched.executions where job_id = %s and plan = 0 order by scheduled_for", [job]
    )
    return [(at - MARCH) // HOUR for at in found]


def run_pace(db: Connection, id: UUID, seconds: float) -> None:
    """Let this much time pass for the backfill's rate."""
    pace = "update pgsched.bulk_operations set paced_until = paced_until - %s * interval '1 second' where id = %s"
    db.execute(pace, [seconds, id])


def ran(db: Connection, job: UUID, hour: int, *, ended: str = "succeeded") -> None:
    """Arrange a run of the job for this instant that has ended."""
    id = value(
        db,
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, partition, target)"
        " select %s, %s, j.id, pgsched_internal.partition_of(j), j.target from pgsched.jobs j where j.id ="
        " %s returning id",
        [MARCH + hour * HOUR, MARCH + hour * HOUR, job],
    )
    finish(db, id, ended=ended)


async def claim(worker: connect.Connection) -> executions.Claimed:
    held = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=timedelta(seconds=3))
    shares = [PartitionShare(partition, LONG_AGO, 100) for partition in range(16)]
    return await executions.claim(worker, held, shares, now=0)
