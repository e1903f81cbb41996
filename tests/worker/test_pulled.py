"""What workers do for queues that consumers pull from."""

from collections.abc import Iterator

import psycopg
import pytest

from pgsched.errors import Conflict
from pgsched.store.admin.worker_registry import check_queues
from tests.store.pull.pull_arrange import Handed, claim, complete, pulled_queue, put, run_out
from tests.store.store_arrange import Connection as Consumer
from tests.store.store_arrange import call
from tests.worker.conftest import Connection, Recorder, Running, until, value

WAITING = "select count(*) from pgsched.executions where job_id is not null and plan < 0 and lease_token is null"


@pytest.fixture
def orders(database_url: str) -> Iterator[Consumer]:
    """A consumer's session, and the queue ``orders`` that it pulls from."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        pulled_queue(connection)
        yield connection


async def test_workers_do_not_claim_from_a_pulled_queue(db: Connection, running: Running, orders: Consumer) -> None:
    put(orders)
    async with running(queues="default,orders") as worker:
        await until(lambda: value(db, "select count(*) = 1 from pgsched.workers"))
        assert worker.parts.assignment.partitions == list(range(16))
        assert len(claim(orders)) == 1


def test_a_worker_for_a_pulled_queue_is_refused(orders: Consumer) -> None:
    with pytest.raises(Conflict, match="consumers pull from the queue 'orders'"):
        check_queues(orders, ["default", "orders"])


async def test_runs_in_a_pulled_queue_are_claimed_and_each_has_a_successor(
    db: Connection, running: Running, orders: Consumer
) -> None:
    async with running():
        job = call(orders, "schedule", target="queue:", queue="orders", every="1 s", rules={"on_overlap": "allow"})
        seen = []
        for _ in range(3):
            found = await until(lambda: _claimed(orders))
            seen += [handed.scheduled_for for handed in found]
            for handed in found:
                assert handed.job_id == job
                complete(orders, handed)
        assert len(set(seen)) == len(seen) >= 3
        query = "select count(*) from pgsched.executions where job_id = %s and plan > 0"
        assert await value(db, query, job) == 1


async def test_an_unclaimed_run_counts_as_an_overlap(db: Connection, running: Running, orders: Consumer) -> None:
    async with running():
        call(orders, "schedule", target="queue:", queue="orders", every="1 s")
        query = "select count(*) > 0 from pgsched.history where status = 'skipped' and reason = 'overlap'"
        await until(lambda: value(db, query))
        assert await value(db, WAITING) == 1


async def test_dropping_pulled_queues_causes_no_service_failure(
    db: Connection, running: Running, orders: Consumer, recorder: Recorder
) -> None:
    for number in range(4):
        call(orders, "create_queue", name=f"pulled-{number}", changes={"pulled": True})
    async with running():
        planned = "select count(*) > 0 from pgsched.executions where job_id is not null and plan < 0"
        call(orders, "schedule", target="queue:", queue="orders", every="1 s", rules={"on_overlap": "allow"})
        await until(lambda: value(db, planned))
        for number in range(4):
            call(orders, "drop_queue", name=f"pulled-{number}")
        await orders_are_passed_on(db)
    assert recorder.named("service.failed") == []


async def orders_are_passed_on(db: Connection) -> None:
    """Wait for two more runs, so that the service has had its turns meanwhile."""
    known = await value(db, WAITING)
    await until(lambda: value(db, f"select ({WAITING}) > %s + 1", known))


async def test_a_dead_consumers_lease_expires_without_another_claim(
    db: Connection, running: Running, orders: Consumer
) -> None:
    put(orders, options={"max_attempts": 1})
    [handed] = claim(orders)
    run_out(orders, handed)
    async with running(lease=3.0):
        await until(lambda: value(db, "select count(*) = 1 from pgsched.history where status = 'failed'"))


async def test_a_locked_executions_result_is_recorded_after_the_unlock(
    db: Connection, running: Running, orders: Consumer, database_url: str
) -> None:
    ids = [put(orders), put(orders)]
    handed = claim(orders)
    async with running():
        with psycopg.connect(database_url) as holder:
            holder.execute("select from pgsched.executions where id = %s for update", [ids[0]])
            for one in handed:
                complete(orders, one)
            assert await value(db, "select count(*) from pgsched.history where status = 'succeeded'") == 1
        await until(lambda: value(db, "select count(*) = 2 from pgsched.history where status = 'succeeded'"))


async def _claimed(orders: Consumer) -> list[Handed]:
    return claim(orders)


async def test_a_paused_clients_backlog_is_set_aside_until_a_resume(
    db: Connection, running: Running, orders: Consumer
) -> None:
    await db.execute(
        "insert into pgsched.executions (target, fire_at, client_id, partition)"
        " select 'queue:', now() - interval '1 hour', 'held', q.first_partition + n %% 16"
        " from pgsched.queues q, generate_series(1, 64) n where q.name = %s",
        ["orders"],
    )
    await db.execute("select pgsched.pause('client', 'held')")
    in_the_way = "select count(*) from pgsched.executions where client_id = 'held' and fire_at < now()"
    async with running():
        await until(lambda: _is(db, in_the_way, 0))
        put(orders)
        assert [handed.client for handed in await until(lambda: _claimed(orders))] == ["default"]
        await db.execute("select pgsched.resume('client', 'held')")
        await until(lambda: _is(db, in_the_way, 64))


async def _is(db: Connection, query: str, expected: int) -> bool:
    return bool(await value(db, query) == expected)
