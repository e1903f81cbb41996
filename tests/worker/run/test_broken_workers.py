"""A worker notices when one of its parts has stopped working."""

import asyncio
import time

import pytest

from pgsched.scheduler import worker as module
from pgsched.service import Service
from pgsched.telemetry import Events
from tests.worker.conftest import Recorder, Running, until


class Moody(Service):
    """Fails while ``fails`` is set."""

    name = "moody"
    longest_pause = 0.01

    def __init__(self, events: Events) -> None:
        super().__init__(events)
        self.fails, self.turned = True, asyncio.Event()

    async def turn(self) -> float:
        self.turned.set()
        if self.fails:
            raise OSError("no")
        return 60.0


async def test_a_worker_reports_an_ended_service_as_broken(running: Running) -> None:
    async with running() as worker:
        assert worker.broken is None
        task = worker._tasks[worker.services.index(worker.parts.renewer)]
        task.cancel()
        await asyncio.wait([task])
        assert worker.broken == "renewer"


async def test_a_worker_reports_its_lanes_as_broken_if_the_timeout_task_ends(running: Running) -> None:
    async with running() as worker:
        task = worker.parts.dispatcher._timeouts.task
        task.cancel()
        await asyncio.wait([task])
        assert worker.broken == "lanes"


async def test_a_service_is_unwell_until_a_turn_succeeds(recorder: Recorder) -> None:
    service = Moody(Events(recorder))
    assert service.unwell_for == 0.0
    running = asyncio.create_task(service.run())
    await recorder.wait_for("service.failed")
    assert service.unwell_for > 0.0
    service.fails = False
    await recorder.wait_for("service.recovered")
    assert service.unwell_for == 0.0
    service.stop()
    await running


async def test_a_settler_that_fails_while_the_database_is_up_is_reported_broken(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WELL", 3600.0)
    async with running() as worker:

        async def is_settled() -> bool:
            return not (worker.parts.settler.unwell_for or worker.parts.renewer.unwell_for)

        await until(is_settled)
        worker.parts.settler._unwell_since = time.monotonic() - 61
        assert worker.broken == "settler"
        worker.parts.renewer._unwell_since = time.monotonic() - 3601
        assert worker.broken is None
        worker.parts.settler._unwell_since = worker.parts.renewer._unwell_since = None
