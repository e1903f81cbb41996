"""How the demo decides whether everything arrived; `make demo` runs the whole."""

from datetime import UTC, datetime, timedelta

import pytest

from pgsched.cli.demo import ONE_SHOTS, _judge
from pgsched.cli.demo_receiver import Receiver

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
END = START + timedelta(seconds=9)


@pytest.fixture
def complete() -> Receiver:
    """Nine seconds in which nothing was missing."""
    arrivals = Receiver()
    arrivals.numbers = set(range(1, ONE_SHOTS + 1))
    for name, every in (("second", 1), ("other", 2), ("third", 3)):
        for n in range(9 // every + 1):
            arrivals.instants[name][START + timedelta(seconds=n * every)] = 1.5
    return arrivals


def test_it_succeeds_when_everything_arrived(complete: Receiver) -> None:
    verdict = _judge(complete, END)
    assert verdict.value["ok"]
    assert "everything arrived" in verdict.text


def test_it_fails_when_one_one_shot_is_missing(complete: Receiver) -> None:
    complete.numbers.discard(500)
    assert _judge(complete, END).value["arrivals"]["once"]["missing"] == 1
    assert not _judge(complete, END).value["ok"]


@pytest.mark.parametrize("second", [4, 9])
def test_it_fails_when_a_recurring_instant_is_missing(complete: Receiver, second: int) -> None:
    del complete.instants["second"][START + timedelta(seconds=second)]
    assert not _judge(complete, END).value["ok"]


def test_it_fails_when_a_job_never_fired(complete: Receiver) -> None:
    complete.instants["third"].clear()
    assert not _judge(complete, END).value["ok"]


def test_a_repeat_is_counted_once(complete: Receiver) -> None:
    complete.instants["second"].setdefault(START, 900.0)
    assert complete.lateness("second")["max_ms"] == 1.5
