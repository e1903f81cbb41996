"""A lane lends its attempt the time for which the event loop stood still."""

import pytest

from pgsched.worker.run.lane import Lane


@pytest.fixture
def lane() -> Lane:
    """Of an attempt of ten seconds that began at 0."""
    return Lane(started=0.0, expires=10.0)


def test_an_attempt_has_as_much_longer_as_it_is_lent(lane: Lane) -> None:
    lane.lend(3.0)
    assert lane.expires == 13.0


def test_an_attempt_is_lent_no_more_time_than_it_had(lane: Lane) -> None:
    for _ in range(10):
        lane.lend(3.0)
    assert lane.expires == 20.0


def test_the_next_attempt_in_the_lane_is_lent_as_much_again(lane: Lane) -> None:
    lane.lend(60.0)
    lane.started, lane.expires = 100.0, 110.0
    lane.lend(3.0)
    assert lane.expires == 113.0
