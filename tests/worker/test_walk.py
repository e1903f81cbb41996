"""A plain execution and a job's run visit exactly the modules that the architecture page lists."""

import asyncio
from collections.abc import Callable
from typing import Any

from pgsched.delivery.app import App
from pgsched.scheduler import Worker
from tests.walks import TIMES, listed, visited
from tests.worker.conftest import Connection, Running, until_history

WALK = "The walk of one row"
DUE = "select pgsched.schedule('python:do', fire_at => now() - interval '1 second')"
JOB = "select pgsched.schedule('python:do', every => '1 second')"
NOTICED = {"worker/claim/listener.py", "domain/wake_notice.py"}
"""The modules that receive notifications. A job's run needs none, since it is planned before its instant."""
EARLY_OR_LATE = {
    "worker/run/upcoming.py",
    "worker/run/precise_timer.py",
    "worker/run/start_order.py",
    "worker/claim/client_streams.py",
}
"""The modules that hold a row claimed before its instant, as a job's run is unless the machine is slow; and the
module that claims by priority when claims are late."""


def on_the_way(worker: Worker) -> Callable[[asyncio.Task[Any] | None], bool]:
    """A predicate for the tasks of the listener, claimer, settler and lanes. Callbacks of the loop have no task."""
    named = dict(zip((service.name for service in worker.services), worker._tasks, strict=True))
    tasks = {
        named["listener"],
        named["claimer"],
        worker._settling,
        *(lane.task for lane in worker.parts.dispatcher._lanes),
    }
    return lambda task: task is None or task in tasks


def doing() -> App:
    app = App()

    @app.handler("do")
    async def do() -> None: ...

    return app


async def test_a_plain_execution_visits_the_listed_modules(running: Running, db: Connection) -> None:
    async with running(doing(), poll_interval=30.0) as worker:
        await db.execute(DUE)
        await until_history(db, 1)
        walks = []
        for count in range(2, 2 + TIMES):
            with visited(on_the_way(worker)) as found:
                await db.execute(DUE)
                await until_history(db, count)
            walks.append(found)
    assert set.intersection(*walks) == listed(WALK)


async def test_a_jobs_run_also_visits_the_modules_listed_for_jobs(running: Running, db: Connection) -> None:
    async with running(doing(), poll_interval=30.0) as worker:
        await db.execute(JOB)
        await until_history(db, 1)
        walks = []
        for count in range(2, 2 + TIMES):
            with visited(on_the_way(worker)) as found:
                await until_history(db, count)
            walks.append(found)
    walk = set.intersection(*walks)
    assert walk - listed(WALK) - EARLY_OR_LATE == listed(WALK, "-")
    assert listed(WALK) - walk <= NOTICED
