"""What a worker knows about its partitions, and where it starts to read them."""

import time

import pytest

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.wire import LONG_AGO
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.worker.claim.earliest_due import EarliestDue
from pgsched.worker.clock import DatabaseClock
from tests.worker.claim.test_polling_instead_of_notifications import ring
from tests.worker.conftest import Connection, Recorder, Running, counting_app, numbered, until_history, value

SECOND = 1_000_000
NOW = 800_000_000 * SECOND
AHEAD = SECOND // 5


def made() -> EarliestDue:
    clock = DatabaseClock()
    clock.observe(NOW, time.monotonic(), time.monotonic())
    return EarliestDue(numbered(1), clock, ahead=AHEAD)


@pytest.fixture
def earliest_due() -> EarliestDue:
    """The state after a look that found a row due in a minute in partition 1, and no row in partition 2."""
    found = made()
    found.asking()
    found.seen([1, 2], {1: NOW + 60 * SECOND}, NOW)
    return found


def row(fire_at: int, *, partition: int = 1) -> ClaimedExecution:
    return ClaimedExecution(
        partition=partition, id=b"", token=1, attempt=1, fire_at=fire_at, scheduled_for=fire_at, client_id="default",
        target="python:x", payload=None, options=None, job_id=None, plan=None, key=None, ordering_key=None,
    )  # fmt: skip


def test_claims_start_at_the_oldest_row_until_the_first_search() -> None:
    assert made().front.low(1) == LONG_AGO


def test_a_search_records_the_earliest_due_instants(earliest_due: EarliestDue) -> None:
    assert earliest_due.due == {1: NOW + 60 * SECOND}


def test_claims_start_shortly_before_the_last_search(earliest_due: EarliestDue) -> None:
    assert NOW - 5 * SECOND < earliest_due.front.low(1) == earliest_due.front.low(2) < NOW


def test_the_low_mark_moves_back_to_an_older_waiting_row(earliest_due: EarliestDue) -> None:
    earliest_due.seen([1], {1: NOW - 3600 * SECOND}, NOW)
    assert earliest_due.front.low(1) == earliest_due.due[1] == NOW - 3600 * SECOND


def test_a_notice_of_a_row_before_the_low_mark_moves_the_mark_back(earliest_due: EarliestDue) -> None:
    earliest_due.hear(2, NOW - 3600 * SECOND)
    assert earliest_due.front.low(2) == earliest_due.due[2] == NOW - 3600 * SECOND


def test_reaching_back_lowers_low_marks_but_keeps_known_due_times(earliest_due: EarliestDue) -> None:
    earliest_due.front.reach_back(NOW - 3600 * SECOND)
    assert earliest_due.front.low(1) == earliest_due.front.low(2) == NOW - 3600 * SECOND
    earliest_due.front.reach_back(NOW)
    assert earliest_due.front.low(1) == NOW - 3600 * SECOND
    assert earliest_due.due == {1: NOW + 60 * SECOND}


def test_a_notice_of_a_row_after_the_next_due_row_changes_nothing(earliest_due: EarliestDue) -> None:
    before = earliest_due.front.low(1)
    earliest_due.hear(1, NOW + 61 * SECOND)
    assert (earliest_due.due[1], earliest_due.front.low(1)) == (NOW + 60 * SECOND, before)


def test_a_notice_during_a_search_survives_the_searchs_result(earliest_due: EarliestDue) -> None:
    earliest_due.asking()
    earliest_due.hear(2, NOW - 3600 * SECOND)
    earliest_due.seen([1, 2], {}, NOW)
    assert earliest_due.due == {2: NOW - 3600 * SECOND}
    assert earliest_due.front.low(2) == NOW - 3600 * SECOND


def test_a_searchs_result_replaces_an_earlier_notice(earliest_due: EarliestDue) -> None:
    earliest_due.hear(2, NOW)
    earliest_due.asking()
    earliest_due.seen([1, 2], {}, NOW)
    assert earliest_due.due == {}


def test_a_notice_during_a_claim_survives_the_claims_result(earliest_due: EarliestDue) -> None:
    earliest_due.asking()
    earliest_due.hear(1, NOW)
    earliest_due.claimed([PartitionShare(1, earliest_due.front.low(1), 16)], Claimed([], [], {}))
    assert earliest_due.due[1] == NOW


def test_the_next_claim_starts_where_a_full_share_ended(earliest_due: EarliestDue) -> None:
    taken = [row(NOW + 2), row(NOW + 1), row(NOW)]
    assert earliest_due.claimed([PartitionShare(1, earliest_due.front.low(1), 3)], Claimed(taken, taken, {})) == []
    assert earliest_due.front.low(1) == earliest_due.due[1] == NOW + 2
    assert earliest_due._taken[1] == 3


def test_a_partly_filled_share_leaves_nothing_due_in_its_partition(earliest_due: EarliestDue) -> None:
    low = earliest_due.front.low(1)
    assert earliest_due.claimed([PartitionShare(1, low, 3)], Claimed([row(NOW)], [row(NOW)], {})) == [1]
    assert 1 not in earliest_due.due
    assert earliest_due.front.low(1) == low
    assert earliest_due._taken[1] == 1


@pytest.mark.parametrize("batch", [1, 3])
def test_an_overdue_successor_moves_the_low_mark_back(earliest_due: EarliestDue, batch: int) -> None:
    planned = {1: NOW - 3600 * SECOND}
    earliest_due.claimed(
        [PartitionShare(1, earliest_due.front.low(1), batch)], Claimed([row(NOW)], [row(NOW)], planned)
    )
    assert earliest_due.due[1] == earliest_due.front.low(1) == NOW - 3600 * SECOND


def test_claims_start_at_the_oldest_row_after_partitions_are_forgotten(earliest_due: EarliestDue) -> None:
    earliest_due.forget()
    assert earliest_due.front.low(1) == LONG_AGO


def test_a_partition_forgotten_during_a_search_stays_forgotten(earliest_due: EarliestDue) -> None:
    earliest_due.asking()
    earliest_due.forget()
    earliest_due.seen([1], {}, NOW)
    assert earliest_due.front.low(1) == LONG_AGO


async def test_a_full_claim_of_new_rows_does_not_skip_a_jobs_successor(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, _ = counting_app()
    job = "insert into pgsched.jobs (target, every, planned_revision) values ('python:count', '1 hour', 1) returning id"
    found = await (await db.execute(job)).fetchone()
    assert found is not None
    async with running(app, poll_interval=30.0) as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.schedule('python:count', '{}')")
        await until_history(db, 1)
        worker.parts.sweeper.stop()  # it would find the row after two seconds
        await db.execute(
            "insert into pgsched.executions (target, payload, fire_at, partition, job_id, plan)"
            " select 'python:count', '{}', now() + n * interval '1 microsecond', 0,"
            " case n when 0 then %(job)s::uuid end, case n when 0 then 1 end from generate_series(0, 16) n",
            {"job": found[0]},
        )
        await until_history(db, 18)


@pytest.fixture
async def orders(db: Connection) -> int:
    """The first partition of a second queue, ``orders``."""
    await db.execute("insert into pgsched.queues values ('orders', 16)")
    for n in range(16, 32):
        table = f"create table pgsched_internal.executions_{n} partition of pgsched.executions for values in ({n})"
        await db.execute(table.encode())
    return 16


async def test_an_unserved_queues_rows_do_not_wake_a_worker(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    app, _ = counting_app()
    async with running(app, poll_interval=30.0, queues="orders") as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.schedule('python:count', fire_at => now() - interval '1 minute')")
        await db.execute("select pgsched.schedule('python:count', '{}', queue => 'orders')")
        await until_history(db, 1)
        worker.parts.claimer.stop()
        while not (pause := await worker.parts.claimer.turn()):
            continue
    assert pause > 1


async def test_an_unserved_queues_rows_start_no_polling(
    db: Connection, running: Running, recorder: Recorder, orders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.worker.claim.polling_instead_of_notifications._WORTH", 0)  # it would keep polling
    monkeypatch.setattr("pgsched.worker.claim.listener.WITHIN", 5.0)
    app, _ = counting_app()
    async with running(app, poll_interval=30.0, queues="orders"):
        await recorder.wait_for("worker.joined")
        await ring(db)
        await db.execute("select pgsched.schedule('python:count', '{}', queue => 'orders')")
        await until_history(db, 1)
        assert not await value(db, "select pgsched_internal.is_watched(1)")


async def test_rows_claimed_by_polling_before_the_first_search_are_executed(
    db: Connection, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgsched.worker.claim.listener.WITHIN", 5.0)
    app, calls = counting_app()
    await db.execute(
        "insert into pgsched.executions (target, payload, fire_at)"
        " select 'python:count', '{}', now() from generate_series(1, 500)"
    )
    async with running(app) as worker:
        worker.parts.claimer.poll()
        await until_history(db, 500, seconds=10)
    assert len(calls) == 500
