"""The timer rings once, at its moment: with the kernel's timer and the loop's, on both event loops."""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from pgsched.worker.run.precise_timer import PreciseTimer

LATE = 0.02  # for slow machines; an idle machine needs a fiftieth
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
MakeTimer = Callable[[Callable[[], None]], PreciseTimer]


class Bell:
    """Records when it rang, and lets a test wait for it."""

    def __init__(self) -> None:
        self.rang: list[float] = []
        self._ringing = asyncio.Event()

    def ring(self) -> None:
        self.rang.append(time.monotonic())
        self._ringing.set()

    async def wait(self) -> float:
        async with asyncio.timeout(10):
            await self._ringing.wait()
        self._ringing.clear()
        return self.rang[-1]


@pytest.fixture(params=LOOPS)
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=LOOPS[request.param]) as running:
        yield running


@pytest.fixture(params=["kernel", "loop"])
def make_alarm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MakeTimer:
    """Makes timers that use the kernel's timer, where there is one, or the loop's."""

    def make(ring: Callable[[], None]) -> PreciseTimer:
        with monkeypatch.context() as patch:
            if request.param == "loop":
                patch.setattr(sys, "platform", "elsewhere")
            return PreciseTimer(ring)

    return make


async def rings_until(make_alarm: MakeTimer, moment: float, bell: Bell) -> list[float]:
    """When the bell rang until this moment, for which another timer waits."""
    over = Bell()
    end = make_alarm(over.ring)
    end.set(moment)
    await over.wait()
    end.close()
    return bell.rang


def test_a_timer_rings_once(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> int:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        moment = time.monotonic() + 0.005
        alarm.set(moment)
        await bell.wait()
        rang = await rings_until(make_alarm, moment + 0.03, bell)
        alarm.close()
        return len(rang)

    assert runner.run(rung()) == 1


async def lateness(make_alarm: MakeTimer) -> list[float]:
    """How late the timer rings, for moments at different places within a millisecond."""
    bell, late = Bell(), list[float]()
    alarm = make_alarm(bell.ring)
    for n in range(15):
        moment = time.monotonic() + 0.003 + n * 0.000_17
        alarm.set(moment)
        late.append(await bell.wait() - moment)
    alarm.close()
    return late


def test_a_timer_never_rings_early(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    assert min(runner.run(lateness(make_alarm))) >= 0


@pytest.mark.timed
def test_a_timer_rings_soon_after_its_moment(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    assert statistics.median(runner.run(lateness(make_alarm))) < LATE


@pytest.mark.timed
@pytest.mark.parametrize("ago", [0.0, 0.001, 3600.0])
def test_a_timer_set_in_the_past_rings_immediately(runner: asyncio.Runner, make_alarm: MakeTimer, ago: float) -> None:
    async def waited() -> float:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        began = time.monotonic()
        alarm.set(max(began - ago, 0.0))
        rang = await bell.wait()
        alarm.close()
        return rang - began

    assert min(runner.run(waited()) for _ in range(5)) < LATE


@pytest.mark.parametrize(("first", "second"), [(0.005, 0.03), (60.0, 0.005)])
def test_setting_a_timer_again_replaces_its_moment(
    runner: asyncio.Runner, make_alarm: MakeTimer, first: float, second: float
) -> None:
    async def rung() -> list[float]:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        began = time.monotonic()
        alarm.set(began + first)
        alarm.set(began + second)
        await bell.wait()
        rang = await rings_until(make_alarm, began + second + 0.02, bell)
        alarm.close()
        return [moment - began for moment in rang]

    [waited] = runner.run(rung())
    assert waited >= second - 0.001
    assert waited < 10


def test_a_timer_can_be_set_again_after_it_rang(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> int:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        for _ in range(3):
            alarm.set(time.monotonic() + 0.002)
            await bell.wait()
        alarm.close()
        return len(bell.rang)

    assert runner.run(rung()) == 3


def test_a_due_timer_moved_before_it_rings_does_not_ring(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> int:
        bell = Bell()
        alarms: list[PreciseTimer] = []

        def ring() -> None:  # both moments have come; the first to ring moves both
            bell.ring()
            for alarm in alarms:
                alarm.set(time.monotonic() + 60)

        alarms += [make_alarm(ring), make_alarm(ring)]
        began = time.monotonic()
        for alarm in alarms:
            alarm.set(began - 1)
        rang = await rings_until(make_alarm, began + 0.02, bell)
        for alarm in alarms:
            alarm.close()
        return len(rang)

    assert runner.run(rung()) == 1


def test_a_cancelled_timer_does_not_ring(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> list[float]:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        moment = time.monotonic() + 0.005
        alarm.set(moment)
        alarm.cancel()
        rang = await rings_until(make_alarm, moment + 0.02, bell)
        alarm.close()
        return rang

    assert runner.run(rung()) == []


def test_a_cancelled_timer_can_be_set_again(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> int:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        alarm.set(time.monotonic() + 60)
        alarm.cancel()
        alarm.set(time.monotonic() + 0.002)
        await bell.wait()
        alarm.close()
        return len(bell.rang)

    assert runner.run(rung()) == 1


def test_a_closed_timer_does_not_ring(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def rung() -> list[float]:
        bell = Bell()
        alarm = make_alarm(bell.ring)
        moment = time.monotonic() + 0.005
        alarm.set(moment)
        alarm.close()
        return await rings_until(make_alarm, moment + 0.02, bell)

    assert runner.run(rung()) == []


def test_a_closed_timer_leaves_no_file_descriptor(runner: asyncio.Runner, make_alarm: MakeTimer) -> None:
    async def left() -> set[str]:
        before = open_files()
        alarm = make_alarm(lambda: None)
        alarm.set(time.monotonic() + 60)
        alarm.close()
        alarm.close()  # a no-op the second time
        return open_files() - before

    runner.run(rest())  # now the loop has opened its own files
    assert runner.run(left()) == set()


async def rest() -> None:
    """Take one turn of the loop, with a timer."""
    await asyncio.sleep(0.001)


def open_files() -> set[str]:
    """This process's open file descriptors, without the one that lists them."""
    return {path.name for path in Path("/dev/fd").iterdir() if path.exists()}
