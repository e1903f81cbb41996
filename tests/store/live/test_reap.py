"""Reaping: rows of lost workers, expired leases, and the end after a last attempt."""

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from pgsched.domain.execution_options import DEFAULT_ATTEMPTS
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO, microseconds
from pgsched.store.live import executions, reaping
from pgsched.store.live.executions import Lease, PartitionShare
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import column, counts, reap, row, run_out, schedule, status, value

pytestmark = [pytest.mark.oldest_postgresql, pytest.mark.smoke]

EDGES = dict.fromkeys(range(16), LONG_AGO)


async def leased(db: Session, worker: Connection, *, owner: int = 1, seconds: float = 30, **arguments: object) -> UUID:
    """A row leased to ``owner`` for ``seconds``."""
    id = schedule(db, **{"fire_at": "2020-01-01Z", "ordering_key": "together", "client": "payments", **arguments})
    lease = Lease(owner=owner, token=owner, length=timedelta(seconds=seconds), ahead=timedelta(0))
    claimed = await executions.claim(worker, lease, [PartitionShare(partition_of(db, id), LONG_AGO, 100)], now=0)
    assert len(claimed.rows) == 1
    return id


def partition_of(db: Session, id: UUID) -> int:
    return int(value(db, "select partition from pgsched.executions where id = %s", [id]))


async def test_a_lost_workers_row_is_scheduled_again(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
    assert row(db, "select status::text, attempt, worker, lease_expires_at from pgsched.status") == (
        "scheduled",
        0,
        None,
        None,
    )
    assert row(db, "select execution_id, attempt, error, client_id from pgsched.attempts") == (
        id,
        1,
        "the worker was lost",
        "payments",
    )


async def test_reaping_leaves_rows_of_workers_that_are_not_lost(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    assert await reap(worker, partition_of(db, id), [6]) == (0, 0)
    assert status(db, id) == "running"


async def test_reaping_ends_an_expired_lease(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, seconds=-1)
    assert await reap(worker, partition_of(db, id), []) == (1, 0)
    assert status(db, id) == "retrying"


async def test_an_expired_lease_is_kept_until_its_worker_is_known_to_be_alive(db: Session, worker: Connection) -> None:
    db.execute(
        "insert into pgsched.workers (id, name, queues, release, lease, expires_at)"
        " overriding system value values (5, 'w', '{default}', '0', '30 s', now() + '10 s')"
    )
    id = await leased(db, worker, owner=5, seconds=-1)
    assert await reap(worker, partition_of(db, id), []) == (0, 0)
    assert status(db, id) == "running"
    db.execute("update pgsched.workers set expires_at = now() + '30 s'")
    assert await reap(worker, partition_of(db, id), []) == (1, 0)
    assert status(db, id) == "retrying"


async def test_reaping_leaves_a_current_lease(db: Session, worker: Connection) -> None:
    id = await leased(db, worker)
    assert await reap(worker, partition_of(db, id), []) == (0, 0)
    assert status(db, id) == "running"


@pytest.mark.parametrize("most", ["1", "1.0", "1e0"])
async def test_a_row_lost_on_its_last_attempt_fails_with_a_reason(db: Session, worker: Connection, most: str) -> None:
    id = await leased(db, worker, owner=5)
    db.execute(
        "update pgsched.executions set begun = lease_token, options = %s::jsonb", [f'{{"max_attempts": {most}}}']
    )
    run_out(db)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)
    assert row(db, "select id, status::text, attempt, reason, scheduled_for = '2020-01-01Z' from pgsched.history") == (
        id,
        "failed",
        1,
        "the worker was lost on the last attempt",
        True,
    )
    assert value(db, "select count(*) from pgsched.attempts") == 1
    assert counts(db) == (0, 0, 1)


async def test_reaping_fails_a_row_after_the_default_number_of_attempts(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    db.execute("update pgsched.executions set attempt = %s", [DEFAULT_ATTEMPTS - 1])
    run_out(db)
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
    db.execute("update pgsched.executions set attempt = %s, lease_owner = 5, lease_token = 5", [DEFAULT_ATTEMPTS])
    run_out(db)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)
    assert value(db, "select pgsched_internal.default_attempts()") == DEFAULT_ATTEMPTS


async def test_a_backoff_list_allows_one_more_attempt_than_its_length(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"backoff": ["1s", "2s"]})
    db.execute("update pgsched.executions set attempt = 2")
    run_out(db)
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
    db.execute("update pgsched.executions set attempt = 3, lease_owner = 5, lease_token = 5")
    run_out(db)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)


async def test_reaping_skips_a_row_that_is_being_settled(db: Session, worker: Connection, store_url: str) -> None:
    id = await leased(db, worker, owner=5)
    partition = partition_of(db, id)
    with psycopg.connect(store_url) as settler:
        settler.execute("delete from pgsched.executions where id = %s", [id])
        assert await reap(worker, partition, [5]) == (0, 0)
    assert column(db, "select id from pgsched.executions") == []


async def test_several_rows_are_reaped_together(db: Session, worker: Connection) -> None:
    ids = [await leased(db, worker, owner=5) for _ in range(3)]
    options = '{"max_attempts": 1}'
    db.execute("update pgsched.executions set begun = lease_token, options = %s where id = %s", [options, ids[0]])
    run_out(db)
    assert await reap(worker, partition_of(db, ids[0]), [5]) == (2, 1)


async def test_the_lease_search_finds_only_partitions_with_an_expired_lease(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, seconds=-1)
    await leased(db, worker, ordering_key="another", seconds=30)
    assert (await reaping.expired(worker, EDGES, 100, ended_by=time.time())).expired == [partition_of(db, id)]


async def test_the_search_for_expired_leases_stops_at_its_depth(db: Session, worker: Connection) -> None:
    for _ in range(2):
        schedule(db, fire_at="2019-01-01Z", ordering_key="together", client="payments")
    id = schedule(db, fire_at="2020-01-01Z", ordering_key="together", client="payments")
    db.execute(
        "update pgsched.executions set lease_owner = 1, lease_token = 1, lease_expires_at = now() - interval '1 second'"
        " where id = %s",
        [id],
    )
    assert (await reaping.expired(worker, EDGES, 2, ended_by=time.time())).expired == []
    assert (await reaping.expired(worker, EDGES, 3, ended_by=time.time())).expired == [partition_of(db, id)]


async def test_a_lease_search_that_reaches_its_depth_returns_its_stopping_point(
    db: Session, worker: Connection
) -> None:
    ids = [schedule(db, fire_at=f"20{year}-01-01Z", ordering_key="together", client="payments") for year in (19, 20)]
    partition, instants = partition_of(db, ids[0]), [microseconds(datetime(y, 1, 1, tzinfo=UTC)) for y in (2019, 2020)]
    assert (await reaping.expired(worker, EDGES, 1, ended_by=time.time())).read_to == {partition: instants[0]}
    assert (await reaping.expired(worker, {partition: instants[0]}, 1, ended_by=time.time())).read_to == {
        partition: instants[1]
    }
    assert (await reaping.expired(worker, {partition: instants[1]}, 1, ended_by=time.time())).read_to == {}
