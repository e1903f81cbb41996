"""Duty cycles: work is limited to its share of the time."""

from types import SimpleNamespace

import pytest

from pgsched.service import DutyCycle


class Clock:
    """A clock that advances only when a test advances it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("pgsched.service.time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def worked(cycle: DutyCycle, clock: Clock, seconds: float) -> None:
    with cycle.work():
        clock.now += seconds


def fail(clock: Clock, seconds: float) -> None:
    clock.now += seconds
    raise ConnectionResetError


def test_work_that_has_never_run_is_due_immediately(clock: Clock) -> None:
    assert DutyCycle(20).is_due
    assert DutyCycle(20).pause == 0.0


def test_work_pauses_long_enough_to_keep_to_its_share_of_time(clock: Clock) -> None:
    cycle = DutyCycle(20)
    worked(cycle, clock, 1.0)
    assert cycle.pause == 19.0
    clock.now += 19.0
    assert cycle.is_due


def test_one_slow_run_delays_the_following_run_only_briefly(clock: Clock) -> None:
    cycle = DutyCycle(20)
    worked(cycle, clock, 0.01)
    worked(cycle, clock, 15.0)
    assert cycle.pause == 5.0
    worked(cycle, clock, 0.01)
    assert cycle.pause == pytest.approx(0.19)


def test_persistently_slow_work_converges_to_its_share_of_time(clock: Clock) -> None:
    cycle = DutyCycle(20)
    for expected in (10.0, 30.0, 70.0, 150.0, 190.0, 190.0):
        worked(cycle, clock, 10.0)
        assert cycle.pause == expected
        clock.now += expected


def test_fast_work_runs_no_more_often_than_the_given_interval(clock: Clock) -> None:
    cycle = DutyCycle(20, every=60.0)
    worked(cycle, clock, 1.0)
    assert cycle.pause == 59.0


def test_slow_work_is_delayed_no_longer_than_the_given_maximum(clock: Clock) -> None:
    cycle = DutyCycle(20, at_most=15.0)
    worked(cycle, clock, 1.0)
    assert cycle.pause == 14.0


def test_unfinished_work_does_not_wait_for_the_minimum_interval(clock: Clock) -> None:
    cycle = DutyCycle(20, every=60.0)
    worked(cycle, clock, 1.0)
    cycle.go_on()
    assert cycle.pause == 19.0


def test_failed_work_pauses_as_long_as_successful_work(clock: Clock) -> None:
    cycle = DutyCycle(10)
    with pytest.raises(ConnectionResetError), cycle.work():
        fail(clock, 1.0)
    assert cycle.pause == 9.0


def test_the_next_run_can_be_hastened_and_postponed(clock: Clock) -> None:
    cycle = DutyCycle(10, every=60.0)
    worked(cycle, clock, 1.0)
    cycle.hasten(5.0)
    assert cycle.pause == 5.0
    cycle.postpone(7.0)
    assert cycle.pause == 7.0
    cycle.hasten()
    assert cycle.is_due


async def test_waiting_for_a_connection_does_not_count_as_work(clock: Clock) -> None:
    class Slow:
        async def get(self) -> str:
            clock.now += 30.0
            return "connection"

    cycle = DutyCycle(20)
    async with cycle.work_on(Slow()) as connection:
        clock.now += 1.0
    assert connection == "connection"
    assert cycle.pause == pytest.approx(19.0)
