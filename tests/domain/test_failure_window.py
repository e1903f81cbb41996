"""What counts as a failure of the target and what does not."""

from datetime import timedelta

import pytest

from pgsched.domain.attempt_outcome import (
    LONGEST_RETRY_AFTER,
    AlreadySettled,
    Failed,
    Late,
    Outcome,
    Released,
    Succeeded,
)
from pgsched.domain.failure_window import OF_A_HOST, Window, asked_pause, is_healthy, is_target_fault

MINUTE = timedelta(minutes=1)


def failed(code: int | None, retry_after: timedelta | None = None) -> Failed:
    return Failed(error="no", retryable=True, status_code=code, retry_after=retry_after)


@pytest.mark.parametrize(
    ("attempts", "failures", "fails"),
    [(10, 10, True), (9, 9, False), (20, 10, True), (21, 10, False), (1000, 499, False), (1000, 500, True)],
)
def test_ten_failures_make_a_target_failing_if_half_of_its_attempts_fail(
    attempts: int, failures: int, fails: bool
) -> None:
    assert Window(began=0.0, attempts=attempts, failures=failures).fails(10) is fails


@pytest.mark.parametrize(
    ("ill", "well", "fails"),
    [
        ("aaaaaaaaaa", "", False),
        ("aaaaabbbbb", "", False),
        ("aaaaabbbcc", "", True),
        ("abcdefghij", "", True),
        ("abcdefghi", "", False),
        ("aaaaabbbcc", "d", True),
        ("aaaaabbbcc", "a", False),
        ("aaaaabbbcc", "defg", False),
        ("abcdefghij", "klmnopqrst", True),
        ("abcdefghij", "klmnopqrstu", False),
    ],
)
def test_a_host_is_failing_if_several_paths_and_half_of_all_paths_fail(ill: str, well: str, fails: bool) -> None:
    window = Window(began=0.0)
    for path in ill:
        window.count(0.0, path, ill=True)
    for path in well:
        window.count(0.0, path, ill=False)
    assert window.fails(10, paths=OF_A_HOST) is fails


@pytest.mark.parametrize(
    ("asking", "well", "pause"),
    [("aaa", "", None), ("ab", "", None), ("abc", "", 1), ("abc", "defg", None), ("abc", "c", None)],
)
def test_a_host_is_paused_if_enough_paths_ask_for_a_pause(asking: str, well: str, pause: int | None) -> None:
    window = Window(began=0.0)
    for minutes, path in enumerate(asking, 1):
        window.count(0.0, path, ill=True, pause=minutes * MINUTE)
    for path in well:
        window.count(0.0, path, ill=False)
    assert window.pause(paths=OF_A_HOST) == (None if pause is None else pause * MINUTE)


@pytest.mark.parametrize(
    ("outcome", "ill", "well"),
    [
        (Succeeded(status_code=204), False, True),
        (failed(500), True, False),
        (failed(503), True, False),
        (failed(429), True, False),
        (failed(None), True, False),
        (failed(404), False, True),
        (failed(410), False, True),
        (Failed(error="refused to call 10.0.0.1: the address is private", retryable=False), False, False),
        (Late(), False, False),
        (Released(), False, False),
        (AlreadySettled(), False, False),
    ],
)
def test_outcomes_count_as_target_faults_healthy_or_neither(outcome: Outcome, ill: bool, well: bool) -> None:
    assert (is_target_fault(outcome), is_healthy(outcome)) == (ill, well)


@pytest.mark.parametrize(
    ("outcome", "pause"),
    [
        (failed(503, MINUTE), MINUTE),
        (failed(429, MINUTE), MINUTE),
        (failed(503), None),
        (failed(503, timedelta(0)), None),
        (failed(500, MINUTE), None),
        (Succeeded(), None),
        (failed(503, timedelta(days=30)), LONGEST_RETRY_AFTER),
    ],
)
def test_only_a_429_or_503_with_retry_after_asks_for_a_pause(outcome: Outcome, pause: timedelta | None) -> None:
    assert asked_pause(outcome) == pause


def test_failing_since_is_the_first_failure_after_the_latest_success() -> None:
    window = Window(began=0.0)
    found = []
    for at, ill in ((1.0, True), (2.0, True), (3.0, False), (4.0, True), (5.0, True)):
        window.count(at, "/", ill=ill)
        found.append(window.failing_since)
    assert found == [1.0, 1.0, None, 4.0, 4.0]
    assert (window.attempts, window.failures) == (5, 4)
