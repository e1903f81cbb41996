"""An event loop that a handler stops is resumed, and nothing in flight is lost."""

import asyncio

import pytest

from pgsched.telemetry import Events
from pgsched.worker.run.event_loop_runner import run_to_its_end
from tests.worker.conftest import Recorder


async def stop(done: list[int]) -> None:
    for number in range(3):
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        done.append(number)


def test_a_stopped_loop_is_resumed(recorder: Recorder) -> None:
    done: list[int] = []

    async def work() -> None:
        await asyncio.create_task(stop(done))

    run_to_its_end(work(), Events(recorder))
    assert done == [0, 1, 2]
    assert len(recorder.named("loop.stopped")) == 3


def test_an_exception_raised_by_the_work_propagates(recorder: Recorder) -> None:
    async def work() -> None:
        raise RuntimeError("from the work")

    with pytest.raises(RuntimeError, match="from the work"):
        run_to_its_end(work(), Events(recorder))
    assert not recorder.seen
