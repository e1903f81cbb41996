"""Workers and their queues: shares of several queues, pauses, and queues dropped while workers run."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from pgsched.delivery.app import App
from pgsched.store.admin.worker_registry import RegisteredWorker as Seen
from pgsched.worker.assignment import Assignment
from pgsched.worker.claim.client_streams import Stream
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

POLL: dict[str, Any] = {"poll_interval": 30.0}
SCHEDULE = "select pgsched.schedule('python:count', queue => %s)"


def counting_app() -> App:
    app = App()

    @app.handler("count")
    async def count() -> None:
        return None

    return app


@pytest.fixture
async def orders(db: Connection) -> int:
    """The first partition of a second queue, ``orders``."""
    return int(await value(db, "select pgsched.create_queue('orders')"))


async def ended_in(db: Connection, queue: str) -> int:
    return int(await value(db, "select count(*) from pgsched.status where queue = %s and status = 'succeeded'", queue))


async def test_a_worker_runs_only_its_queues_rows(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    async with running(counting_app(), queues="orders"):
        for queue in ("default", "orders", "orders"):
            await db.execute(SCHEDULE, [queue])
        await until_history(db, 2)
    assert (await ended_in(db, "orders"), await ended_in(db, "default")) == (2, 0)


async def test_a_worker_of_several_queues_runs_rows_of_each_queue(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    async with running(counting_app(), queues="default,orders", **POLL):
        await recorder.wait_for("worker.joined")
        for _ in range(20):
            await db.execute(SCHEDULE, ["default"])
            await db.execute(SCHEDULE, ["orders"])
        await until_history(db, 40)
    assert (await ended_in(db, "orders"), await ended_in(db, "default")) == (20, 20)


async def test_recurring_jobs_run_in_their_queue(db: Connection, running: Running, orders: int) -> None:
    await db.execute("select pgsched.schedule('python:count', every => '1 second', queue => 'orders')")
    async with running(counting_app(), queues="orders"):
        await until_history(db, 2)
    partitions = await value(db, "select array_agg(distinct partition & ~15) from pgsched.history")
    assert partitions == [orders]


async def test_a_paused_queue_starts_no_executions_until_resumed(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    await db.execute("select pgsched.pause('queue', 'orders')")
    async with running(counting_app(), queues="default,orders"):
        await db.execute(SCHEDULE, ["orders"])
        for _ in range(10):
            await db.execute(SCHEDULE, ["default"])
        await until_history(db, 10)
        assert await ended_in(db, "orders") == 0
        await db.execute("select pgsched.resume('queue', 'orders')")
        await until_history(db, 11)


async def test_a_running_worker_obeys_a_queues_pause_and_resume(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(counting_app(), **POLL) as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.pause('queue', 'default')")
        await until(lambda: _closed(worker))
        await db.execute(SCHEDULE, ["default"])
        await worker.parts.claimer.turn()
        assert await value(db, "select count(*) from pgsched.executions where lease_token is null") == 1
        await db.execute("select pgsched.resume('queue', 'default')")
        await until_history(db, 1)


async def _closed(worker: Any) -> bool:
    return not worker.parts.assignment.open


async def test_a_queue_pause_also_stops_a_client_with_its_own_stream(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(counting_app(), **POLL) as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.pause('queue', 'default')")
        await until(lambda: _closed(worker))
        worker.parts.claimer._fairness.apart["default"] = Stream("default")
        await db.execute(SCHEDULE, ["default"])
        assert await worker.parts.claimer.turn() > 0
        assert await value(db, "select count(*) from pgsched.executions where lease_token is null") == 1


async def test_a_running_execution_finishes_although_its_queue_is_paused(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, begun, go_on = App(), asyncio.Event(), asyncio.Event()

    @app.handler("slow")
    async def slow() -> None:
        begun.set()
        await go_on.wait()

    async with running(app) as worker:
        await db.execute("select pgsched.schedule('python:slow')")
        await begun.wait()
        await db.execute("select pgsched.pause('queue', 'default')")
        await until(lambda: _closed(worker))
        go_on.set()
        await until_history(db, 1)


async def test_a_queue_pause_is_noticed_even_if_no_notification_arrives(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(counting_app(), notify=False) as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.pause('queue', 'default')")
        await until(lambda: _closed(worker))


async def test_a_worker_continues_with_its_other_queues_when_a_queue_is_dropped(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    async with running(counting_app(), queues="default,orders") as worker:
        await recorder.wait_for("worker.joined")
        await db.execute(SCHEDULE, ["orders"])
        await until_history(db, 1)
        await db.execute("select pgsched.drop_queue('orders')")
        await until(lambda: _serves(worker, 16))
        await db.execute(SCHEDULE, ["default"])
        await until_history(db, 2)


async def test_a_recreated_queue_is_served_by_workers_started_with_its_name(
    db: Connection, running: Running, recorder: Recorder, orders: int
) -> None:
    async with running(counting_app(), queues="orders") as worker:
        await recorder.wait_for("worker.joined")
        await db.execute("select pgsched.drop_queue('orders')")
        await until(lambda: _serves(worker, 0))
        await db.execute("select pgsched.create_queue('orders')")
        await db.execute(SCHEDULE, ["orders"])
        await until_history(db, 1)


async def _serves(worker: Any, count: int) -> bool:
    return len(worker.parts.assignment.partitions) == count


def seen(id: int, served: list[int], paused: list[int] | None = None, *, gone: bool = False) -> Seen:
    return Seen(
        id=id, queues=[], served=served, paused=paused or [], gone=gone, lost=False, now=0.0, expires_at=1.0, lease=30.0
    )


def assignment(number: int) -> Assignment:
    made = Assignment(name="w", instance="w", queues=[], lease=timedelta(seconds=30))
    made.number = number
    return made


def test_each_queue_is_shared_among_workers_that_serve_it() -> None:
    both, one = assignment(1), assignment(2)
    alive = [seen(1, [0, 16]), seen(2, [0])]
    both.share(alive)
    one.share(alive)
    assert both.own == [*range(0, 16, 2), *range(16, 32)]
    assert one.own == [*range(1, 16, 2)]


def test_a_paused_queue_is_left_out_of_the_workers_share() -> None:
    mine = assignment(1)
    assert mine.share([seen(1, [0, 16], [16])]) is True
    assert (mine.own, mine.open, mine.partitions) == ([*range(16)], [*range(16)], [*range(32)])
    assert mine.share([seen(1, [0, 16], [16])]) is False
    assert mine.share([seen(1, [0, 16])]) is True
    assert mine.own == [*range(32)]


def test_a_lost_worker_has_no_share() -> None:
    mine = assignment(1)
    mine.share([seen(1, [0]), seen(2, [0], gone=True)])
    assert mine.own == [*range(16)]
