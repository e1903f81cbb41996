"""What a lost worker had in hand: no attempt is counted, and handlers that were lost again are to run alone."""

from datetime import timedelta
from uuid import UUID

import pytest

from pgsched.store.core.connect import Connection
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.gates import gates
from pgsched.store.live import executions
from pgsched.store.live.executions import Group, Lease, Share
from tests.store import store_arrange
from tests.store.live.test_reap import leased, partition_of
from tests.store.store_arrange import Connection as Session
from tests.store.store_arrange import row, schedule, status, value


async def reap(worker: Connection, partition: int, owners: list[int]) -> tuple[int, int]:
    return await store_arrange.reap(worker, partition, owners)


async def tried(db: Session, *, by: int = 99) -> None:
    """A living worker that runs handlers alone where it must."""
    db.execute(
        "insert into pgsched.workers (id, name, queues, delivers, tries, release, expires_at) overriding system value"
        " values (%s, 'w', '{default}', '{python:work}', true, '0', now() + interval '1 minute')",
        [by],
    )


def again(db: Session, id: UUID) -> None:
    """Puts it into the hand of the worker 5 once more."""
    db.execute(
        "update pgsched.executions set lease_owner = 5, lease_token = 5, attempt = attempt + 1, gate = null,"
        " fire_at = now(),"
        " lease_expires_at = now() + interval '1 minute' where id = %s",
        [id],
    )


async def test_a_lost_worker_takes_no_attempt_however_often(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    for _ in range(4):
        assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
        assert row(db, "select attempt, plan, losses from pgsched.executions") == (0, None, None)
        again(db, id)
    assert value(db, "select count(*) from pgsched.attempts where error = 'the worker was lost' and attempt = 1") == 4


def begin(db: Session, id: UUID) -> None:
    """Its worker has noted that the one attempt begins."""
    db.execute("update pgsched.executions set begun = lease_token where id = %s", [id])


async def test_the_only_attempt_is_lost_with_the_worker_where_it_had_begun(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    begin(db, id)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)
    assert row(db, "select status::text, reason, attempt from pgsched.status") == (
        "failed", "the worker was lost on the last attempt", 1,
    )  # fmt: skip


async def test_that_it_began_under_an_earlier_lease_does_not_count(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, options={"max_attempts": 1})
    begin(db, id)
    db.execute("update pgsched.executions set lease_token = 6 where id = %s", [id])
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)
    assert row(db, "select status::text, attempt from pgsched.status") == ("scheduled", 0)


async def test_the_only_attempt_that_had_not_begun_is_not_counted_where_its_lease_ran_out(
    db: Session, worker: Connection
) -> None:
    id = await leased(db, worker, owner=5, seconds=-1, options={"max_attempts": 1})
    assert await reap(worker, partition_of(db, id), []) == (1, 0)
    assert row(db, "select status::text, attempt from pgsched.status") == ("scheduled", 0)


async def test_where_a_client_allows_one_attempt_that_is_lost_too(db: Session, worker: Connection) -> None:
    db.execute("""select pgsched.set_client('payments', '{"options": {"max_attempts": 1}}')""")
    id = await leased(db, worker, owner=5)
    begin(db, id)
    assert await reap(worker, partition_of(db, id), [5]) == (0, 1)


async def test_what_commits_with_its_end_is_done_again(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="sql:billing.settle", options={"max_attempts": 1})
    assert await reap(worker, partition_of(db, id), [5]) == (1, 0)


async def test_the_second_loss_of_a_handler_has_it_run_alone(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    await tried(db)
    await reap(worker, partition_of(db, id), [5])
    assert row(db, "select losses, gate from pgsched.executions") == (1, None)
    again(db, id)
    await reap(worker, partition_of(db, id), [5])
    assert row(db, "select status::text, held_by, attempt from pgsched.status") == ("held", "alone:python:work", 0)


async def test_beside_one_under_suspicion_the_first_loss_suffices(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    await tried(db)
    other = schedule(db, target="python:work")
    db.execute("update pgsched.executions set fire_at = 'infinity', gate = 'alone:python:work' where id = %s", [other])
    await reap(worker, partition_of(db, id), [5])
    assert value(db, "select gate from pgsched.executions where id = %s", [id]) == "alone:python:work"


async def test_where_nobody_can_run_it_alone_it_goes_on_as_it_was(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    await tried(db, by=5)
    for _ in range(3):
        await reap(worker, partition_of(db, id), [5])
        assert status(db, id) == "scheduled"
        again(db, id)


async def test_whoever_is_lost_twice_with_processes_that_had_it_alone_is_held_for_good(
    db: Session, worker: Connection
) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    await tried(db)
    db.execute(
        "insert into pgsched.workers (id, name, queues, alone, release, expires_at) overriding system value"
        " values (5, 'w', '{default}', true, '0', now())"
    )
    db.execute("update pgsched.executions set losses = 2")
    await reap(worker, partition_of(db, id), [5])
    assert value(db, "select held_by from pgsched.status") == "alone:python:work"
    again(db, id)
    await reap(worker, partition_of(db, id), [5])
    assert row(db, "select held_by, reason from pgsched.status") == (
        "error",
        "the processes that ran it alone were lost",
    )


async def test_callbacks_are_never_under_suspicion(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    await tried(db)
    for _ in range(3):
        await reap(worker, partition_of(db, id), [5])
        assert row(db, "select status::text, held_by from pgsched.status") == ("scheduled", None)
        again(db, id)


async def test_a_job_whose_run_was_lost_is_not_carried_on_twice(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    db.execute("update pgsched.executions set plan = 3 where id = %s", [id])
    await reap(worker, partition_of(db, id), [5])
    assert row(db, "select attempt, plan from pgsched.executions") == (0, -3)


def suspect(db: Session, target: str, losses: int, gate: str | None = None) -> UUID:
    """One that waits to run alone, or at another gate."""
    id = schedule(db, target=target)
    db.execute(
        "update pgsched.executions set fire_at = 'infinity', scheduled_for = now(), gate = %s, losses = %s"
        " where id = %s",
        [gate or f"alone:{target}", losses, id],
    )
    return id


ALONE = ["alone:python:a", "alone:python:b", "alone:python:c", "alone:python:d"]


async def test_who_was_lost_least_often_runs_alone_first(db: Session, worker: Connection) -> None:
    for target, losses in (("python:a", 4), ("python:b", 3), ("python:c", 2), ("python:b", 5)):
        suspect(db, target, losses)
    found = await gates.suspects(worker, ALONE)
    assert [(one.name, one.losses) for one in found] == [(ALONE[2], 2), (ALONE[1], 3), (ALONE[0], 4)]


async def test_of_two_alike_that_comes_last_of_whose_target_one_was_found_out(db: Session, worker: Connection) -> None:
    for target in ("python:a", "python:b", "python:c"):
        suspect(db, target, 2)
    suspect(db, "python:a", 2, gate="error")
    suspect(db, "python:b", 0, gate="error")  # for another reason
    assert [one.name for one in await gates.suspects(worker, ALONE)] == [ALONE[1], ALONE[2], ALONE[0]]


async def test_of_one_target_too_who_was_lost_least_often_is_first(db: Session, worker: Connection) -> None:
    for losses in (5, 3, 4):
        suspect(db, "python:a", losses)
    lease = Lease(owner=7, token=7, length=timedelta(minutes=1), ahead=timedelta(0))
    for losses in (3, 4, 5):
        [first] = await gates.suspects(worker, ALONE)
        assert first.losses == losses
        [row] = await gates.claim_held(worker, lease, first.name, range(16), batch=10, losses=first.losses)
        assert value(db, "select losses from pgsched.executions where id = %s", [row.uuid]) == losses


async def cut_short(db: Session, worker: Connection, id: UUID) -> None:
    """A drain ends its attempt."""
    token = value(db, "select lease_token from pgsched.executions where id = %s", [id])
    await executions.cut_short(worker, partition_of(db, id), Group([id.bytes], [token]))


async def test_a_handler_that_runs_whenever_its_worker_stops_is_run_alone_after_the_third_time(
    db: Session, worker: Connection
) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    await tried(db)
    for losses in (1, 2):
        await cut_short(db, worker, id)
        assert row(db, "select losses, attempt, gate from pgsched.executions") == (losses, 0, None)
        again(db, id)
    await cut_short(db, worker, id)
    assert row(db, "select status::text, held_by, attempt from pgsched.status") == ("held", "alone:python:work", 0)
    assert value(db, "select losses from pgsched.executions") == 2


async def test_a_callback_may_be_cut_short_as_often_as_workers_stop(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    await tried(db)
    for _ in range(4):
        await cut_short(db, worker, id)
        assert row(db, "select status::text, held_by, attempt from pgsched.status") == ("scheduled", None, 0)
        again(db, id)


async def test_what_is_cut_short_has_an_attempt_that_says_so(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5)
    await cut_short(db, worker, id)
    found = row(db, "select execution_id, attempt, worker, error from pgsched.attempts")
    assert found == (id, 1, 5, "its worker was stopped")


async def test_where_nobody_can_run_it_alone_what_is_cut_short_is_not_held(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=5, target="python:work")
    for _ in range(4):
        await cut_short(db, worker, id)
        assert status(db, id) == "scheduled"
        again(db, id)


async def delivery_count(db: Session, worker: Connection, id: UUID) -> tuple[int, int]:
    """The attempt and the delivery count of the next claim."""
    lease = Lease(owner=9, token=9, length=timedelta(minutes=1), ahead=timedelta(0))
    [taken] = (await executions.claim(worker, lease, [Share(partition_of(db, id), LONG_AGO, 1)], now=0)).rows
    return taken.attempt, taken.delivery_count


@pytest.mark.parametrize("target", ["https://shop.example/", "python:work"])
async def test_what_is_lost_or_cut_short_counts_as_delivered(db: Session, worker: Connection, target: str) -> None:
    id = await leased(db, worker, owner=9, target=target)
    await reap(worker, partition_of(db, id), [9])
    assert await delivery_count(db, worker, id) == (1, 2)
    await cut_short(db, worker, id)
    assert await delivery_count(db, worker, id) == (1, 3)


async def test_what_is_handed_back_unstarted_does_not_count_as_delivered(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=9)
    await executions.release(worker, partition_of(db, id), Group([id.bytes], [9]))
    assert await delivery_count(db, worker, id) == (1, 1)


async def test_the_only_attempt_that_had_not_begun_does_not_count_as_delivered(db: Session, worker: Connection) -> None:
    id = await leased(db, worker, owner=9, options={"max_attempts": 1})
    await reap(worker, partition_of(db, id), [9])
    assert await delivery_count(db, worker, id) == (1, 1)


@pytest.mark.parametrize("target", ["https://shop.example/", "python:work"])
async def test_what_was_not_due_when_its_worker_was_lost_had_not_begun(
    db: Session, worker: Connection, target: str
) -> None:
    id = await leased(db, worker, owner=9, target=target)
    await tried(db)
    db.execute("update pgsched.executions set fire_at = now() + interval '20 s', losses = 1")
    assert await reap(worker, partition_of(db, id), [9]) == (1, 0)
    assert row(db, "select attempt, losses, uncounted, gate from pgsched.executions") == (0, 1, None, None)
    assert value(db, "select count(*) from pgsched.attempts") == 0
