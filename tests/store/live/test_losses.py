"""Rows of lost workers: the attempt is not counted, but the losses of handlers are."""

from datetime import timedelta
from uuid import UUID

import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, PartitionShare
from tests.store import store_arrange
from tests.store.live.test_reap import leased, partition_of
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import row, value


async def reap(worker: Connection, partition: int, owners: list[int]) -> tuple[int, int]:
    return await store_arrange.reap(worker, partition, owners)


def again(db: Session, id: UUID) -> None:
    """Lease the row to worker 5 once more."""
    db.execute(
        "update pgsched.executions set lease_owner = 5, lease_token = 5, attempt = attempt + 1, gate = null,"
        " fire_at = now(),"
        " lease_expires_at = now() + interval '1 minute' where id = %s",
        [id],
    )


async def test_workers_lost_before_an_attempt_begins_use_up_no_attempts(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    for _ in range(4):
        assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
        assert row(db, "select attempt, plan, losses from pgsched.executions") == (0, None, None)
        again(db, id)
    assert value(db, "select count(*) from pgsched.attempts where error = 'the worker was lost' and attempt = 1") == 4


def begin(db: Session, id: UUID) -> None:
    """Record that the worker has begun the attempt."""
    db.execute("update pgsched.executions set begun = lease_token where id = %s", [id])


async def test_an_execution_fails_if_its_only_attempt_is_lost_after_beginning(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    begin(db, id)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)
    assert row(db, "select status::text, reason, attempt from pgsched.status") == (
        "failed", "the worker was lost on the last attempt", 1,
    )  # fmt: skip


async def test_an_attempt_begun_under_an_earlier_lease_is_not_used_up(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    begin(db, id)
    db.execute("update pgsched.executions set lease_token = 6 where id = %s", [id])
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
    assert row(db, "select status::text, attempt from pgsched.status") == ("scheduled", 0)


async def test_an_expired_lease_does_not_use_up_an_unbegun_attempt(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, seconds=-1, options={"max_attempts": 1})
    assert await reap(worker, partition_of(db, id), []) == (1, 0)
    assert row(db, "select status::text, attempt from pgsched.status") == ("scheduled", 0)


async def test_a_clients_max_attempts_option_applies_when_a_worker_is_lost(db: Session, worker: Connection) -> None:
    db.execute("""select pgsched.set_client('payments', '{"options": {"max_attempts": 1}}')""")
    id = await leased(db, worker, owner=5)
    begin(db, id)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)


async def test_an_sql_target_runs_again_after_its_worker_is_lost(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="sql:billing.settle", options={"max_attempts": 1})
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)


async def test_reaping_a_lost_run_records_that_its_successor_is_planned(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    db.execute("update pgsched.executions set plan = 3 where id = %s", [id])
    await reap(worker, partition_of(db, id), [5])
    assert row(db, "select attempt, plan from pgsched.executions") == (0, -3)


async def cut_short(db: Session, worker: Connection, id: UUID) -> None:
    """End the attempt as a drain does."""
    token = value(db, "select lease_token from pgsched.executions where id = %s", [id])
    await executions.cut_short(worker, partition_of(db, id), Group([id.bytes], [token]))


async def test_an_attempt_cut_short_by_a_worker_stop_is_recorded(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    await cut_short(db, worker, id)
    found = row(db, "select execution_id, attempt, worker, error from pgsched.attempts")
    assert found == (id, 1, 5, "its worker was stopped")


@pytest.mark.parametrize(("target", "losses"), [("python:work", 2), ("https://shop.example/", None)])
async def test_losses_and_stops_are_counted_only_for_handlers(
    db: Session, worker: Connection, target: str, losses: int | None
) -> None:
    id = await leased(db, worker, owner=9, target=target)
    await reap(worker, partition_of(db, id), [9])
    await claim_one(worker, partition_of(db, id))
    await cut_short(db, worker, id)
    assert row(db, "select status::text, held_by, attempt from pgsched.status") == ("scheduled", None, 0)
    assert (await claim_one(worker, partition_of(db, id))).losses == losses


async def claim_one(worker: Connection, partition: int) -> ClaimedExecution:
    lease = Lease(owner=9, token=9, length=timedelta(minutes=1), ahead=timedelta(0))
    [taken] = (await executions.claim(worker, lease, [PartitionShare(partition, LONG_AGO, 1)], now=0)).rows
    return taken


async def delivery_count(db: Session, worker: Connection, id: UUID) -> tuple[int, int]:
    """The attempt and the delivery count of the next claim."""
    taken = await claim_one(worker, partition_of(db, id))
    return taken.attempt, taken.delivery_count


@pytest.mark.parametrize("target", ["https://shop.example/", "python:work"])
async def test_an_attempt_lost_or_cut_short_counts_as_delivered(db: Session, worker: Connection, target: str) -> None:
    id = await leased(db, worker, owner=9, target=target)
    await reap(worker, partition_of(db, id), [9])
    assert await delivery_count(db, worker, id) == (1, 2)
    await cut_short(db, worker, id)
    assert await delivery_count(db, worker, id) == (1, 3)


async def test_a_released_row_does_not_count_as_delivered(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=9)
    await executions.release(worker, partition_of(db, id), Group([id.bytes], [9]))
    assert await delivery_count(db, worker, id) == (1, 1)


async def test_an_unbegun_lost_attempt_does_not_count_as_delivered(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=9, options={"max_attempts": 1})
    await reap(worker, partition_of(db, id), [9])
    assert await delivery_count(db, worker, id) == (1, 1)


@pytest.mark.parametrize("target", ["https://shop.example/", "python:work"])
async def test_losing_a_worker_before_a_row_is_due_records_no_attempt(
    db: Session, worker: Connection, target: str
) -> None:
    id = await leased(db, worker, owner=9, target=target)
    db.execute("update pgsched.executions set fire_at = now() + interval '20 s', losses = 1")
    assert await reap(worker, partition_of(db, id), [9]) == (1, 0)
    assert row(db, "select attempt, losses, uncounted, gate from pgsched.executions") == (0, 1, None, None)
    assert value(db, "select count(*) from pgsched.attempts") == 0
