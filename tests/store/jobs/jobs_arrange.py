"""Arrange planned jobs and their rows, claim at any time, and look at waiting rows."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, to_instant
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.store.live import executions
from pgsched.store.live.executions import Claimed, Lease, PartitionShare
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import column, value

HOUR = timedelta(hours=1)
BEGAN = datetime(2025, 3, 1, 10, 0, tzinfo=UTC)
ALLOWED = {"on_overlap": "allow"}
LONG_BEFORE = datetime(1990, 1, 1, tzinfo=UTC)  # at this time, no instant has been missed


async def claim(
    worker: Connection,
    *,
    batch: int = 100,
    partitions: Sequence[int] = range(16),
    now: datetime = LONG_BEFORE,
    ahead: timedelta = timedelta(0),
    definitions: Definitions | None = None,
) -> Claimed:
    known = definitions or Definitions()
    lease = Lease(owner=1, token=7, length=timedelta(seconds=30), ahead=ahead, definitions=known)
    return await executions.claim(
        worker, lease, [PartitionShare(partition, LONG_AGO, batch) for partition in partitions], now=to_instant(now)
    )


def job(db: Session, **columns: object) -> UUID:
    """A planned job, by default every hour from BEGAN."""
    given = {"target": "python:x", "planned_revision": 1, "anchor": BEGAN} | columns
    if "cron" not in given:
        given.setdefault("every", HOUR)
    if isinstance(given.get("rules"), dict):
        given["rules"] = Jsonb(given["rules"])
    names, places = ", ".join(given), ", ".join(["%s"] * len(given))
    id = value(db, f"insert into pgsched.jobs ({names}) values ({places}) returning id", list(given.values()))
    assert isinstance(id, UUID)
    return id


def planned_row(
    db: Session, job: UUID, nominal: datetime, *, fire_at: datetime | None = None, revision: int | None = None
) -> None:
    """Insert a waiting row of the job for this instant, as planning does, by default of its current revision."""
    db.execute(
        "insert into pgsched.executions (fire_at, scheduled_for, job_id, plan, partition, client_id, target)"
        " select %s, %s, j.id, coalesce(%s, j.revision), pgsched_internal.partition_of(j), j.client_id, j.target"
        " from pgsched.jobs j where j.id = %s",
        [fire_at or nominal, nominal, revision, job],
    )


def waiting(db: Session, job: UUID) -> list[datetime]:
    """Return the instants of the job's waiting rows."""
    return column(
        db,
        "select scheduled_for from pgsched.executions where job_id = %s and lease_token is null order by scheduled_for",
        [job],
    )
