"""A loop that a handler stops goes on, and nothing of what it had begun is lost."""

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


def test_a_loop_that_is_stopped_goes_on(recorder: Recorder) -> None:
    done: list[int] = []

    async def work() -> None:
        await asyncio.create_task(stop(done))

    run_to_its_end(work(), Events(recorder))
    assert done == [0, 1, 2]
    assert len(recorder.named("loop.stopped")) == 3


def test_what_the_work_raises_is_raised(recorder: Recorder) -> None:
    async def work() -> None:
        raise RuntimeError("of its own")

    with pytest.raises(RuntimeError, match="of its own"):
        run_to_its_end(work(), Events(recorder))
    assert not recorder.seen
