"""A drained worker finishes its executions in flight and starts no new executions until it is resumed."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pgsched.delivery.app import App
from pgsched.store.admin.worker_registry import RegisteredWorker as Seen
from pgsched.worker.assignment import Assignment
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value

POLL: dict[str, Any] = {"poll_interval": 30.0}
SCHEDULE = "select pgsched.schedule('python:slow')"


async def _drained(worker: Any) -> bool:
    return not worker.parts.assignment.open


async def test_a_drained_worker_finishes_its_execution_but_starts_no_new_one(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, begun, go_on = App(), asyncio.Event(), asyncio.Event()

    @app.handler("slow")
    async def slow() -> None:
        begun.set()
        await go_on.wait()

    async with running(app) as worker:
        await db.execute(SCHEDULE)
        await begun.wait()
        number = worker.parts.assignment.number
        await db.execute("select pgsched.pause('worker', %s::text)", [number])
        await until(lambda: _drained(worker))
        await db.execute(SCHEDULE)
        go_on.set()
        await until_history(db, 1)
        await worker.parts.claimer.turn()
        left = "select count(*) from pgsched.executions where lease_token is null"
        assert await value(db, left) == 1
        stall = "select reason from pgsched.status where status = 'scheduled'"
        assert await value(db, stall) == "waits: no worker serves the queue"
        await db.execute("select pgsched.resume('worker', %s::text)", [number])
        await until_history(db, 2)


async def test_a_worker_stays_drained_after_registering_again(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(App()) as worker:
        await recorder.wait_for("worker.joined")
        former = worker.parts.assignment.number
        await db.execute("select pgsched.pause('worker', %s::text)", [former])
        await until(lambda: _drained(worker))
        await db.execute("update pgsched.workers set lost_since = now()")
        await until(lambda: value(db, "select count(*) = 1 from pgsched.workers where lost_since is null"))
        number = await value(db, "select id from pgsched.workers where lost_since is null")
        assert number != former
        assert await value(db, "select worker from pgsched_internal.draining") == number
        registered = "select concurrency from pgsched.workers where id = %s"
        assert await value(db, registered, number) == worker.parts.settings.concurrency
        assert await _drained(worker)


async def test_an_uncommitted_drain_does_not_block_renewing_or_leaving(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    async with running(App()) as worker:
        await recorder.wait_for("worker.joined")
        async with db.transaction():
            await db.execute("select pgsched.pause('worker', %s::text)", [worker.parts.assignment.number])
            async with asyncio.timeout(20):
                assert await worker.parts.assignment.renew(await worker.parts.renewing.get())
                await worker.drain()
    assert await value(db, "select count(*) from pgsched.workers") == 0


def _seen(id: int, **more: Any) -> Seen:
    given: dict[str, Any] = {"queues": ["default"], "served": [0], "paused": [], "expires_at": 0.0, "lease": 30.0}
    return Seen(id=id, now=0.0, gone=False, lost=False, **given, **more)


def test_a_drained_workers_partitions_go_to_other_workers() -> None:
    assignment = Assignment(name="a", instance="a", queues=["default"], lease=timedelta(seconds=30))
    assignment.number = 1
    both = [_seen(1), _seen(2)]
    assignment.share(both)
    assert len(assignment.own) == 8
    assignment.share([both[0], replace(both[1], draining=True)])
    assert len(assignment.own) == 16
    assert assignment.share([replace(both[0], draining=True), both[1]])
    assert (assignment.own, assignment.open) == ([], [])
    assert len(assignment.partitions) == 16
