"""A lane extends its attempt by the time for which the event loop was blocked."""

import pytest

from pgsched.worker.run.lane_state import Lane


@pytest.fixture
def lane() -> Lane:
    """A lane whose attempt started at 0 and has ten seconds."""
    return Lane(started=0.0, expires=10.0)


def test_an_attempt_is_extended_by_the_granted_time(lane: Lane) -> None:
    lane.lend(3.0)
    assert lane.expires == 13.0


def test_an_attempt_is_extended_by_at_most_its_own_duration(lane: Lane) -> None:
    for _ in range(10):
        lane.lend(3.0)
    assert lane.expires == 20.0


def test_the_next_attempt_in_the_lane_can_be_extended_again(lane: Lane) -> None:
    lane.lend(60.0)
    lane.started, lane.expires = 100.0, 110.0
    lane.lend(3.0)
    assert lane.expires == 113.0
