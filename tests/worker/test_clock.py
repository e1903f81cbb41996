"""The database's clock, derived from the monotonic clock."""

import pytest

from pgsched.worker.clock import DatabaseClock


def test_the_estimated_time_is_never_ahead_of_the_database_clock() -> None:
    clock = DatabaseClock()
    clock.observe(1_000_000_000, sent=5.0, received=5.5)
    assert clock.monotonic(1_000_000_000) == pytest.approx(5.5)


def test_the_reading_with_the_shortest_round_trip_wins() -> None:
    clock = DatabaseClock()
    clock.observe(1_000_000_000, sent=5.0, received=5.001)
    clock.observe(1_001_000_000, sent=6.0, received=6.005)
    assert clock.monotonic(1_000_000_000) == pytest.approx(5.001)


def test_a_clock_step_on_either_side_is_adopted_immediately() -> None:
    clock = DatabaseClock()
    clock.observe(1_000_000_000, sent=5.0, received=5.001)
    clock.observe(1_061_000_000, sent=6.0, received=6.002)
    assert clock.monotonic(1_061_000_000) == pytest.approx(6.002)
