import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.outcome import (
    LONGEST_RETRY_AFTER,
    POSTPONED_WITHIN,
    Failed,
    Finish,
    HandBack,
    Late,
    Leave,
    Postpone,
    Postponed,
    Released,
    RetryAfter,
    Settled,
    Succeeded,
    decide,
    lateness,
)
from pgsched.domain.policy import DEFAULT_ATTEMPTS, Backoff, Options, Waits

RNG = random.Random(1)


def retried(failure: Failed, options: Options | None = None, attempt: int = 1) -> RetryAfter:
    decision = decide(failure, attempt, options or Options(), age=0, rng=RNG)
    assert isinstance(decision, RetryAfter)
    return decision


def test_a_success_is_final_and_keeps_its_result() -> None:
    decision = decide(Succeeded(result=b'{"n":1}', status_code=200), 1, Options(), age=0, rng=RNG)
    assert decision == Finish(status="succeeded", status_code=200, result='{"n":1}')


def test_a_success_without_result_keeps_none() -> None:
    assert decide(Succeeded(), 1, Options(), age=0, rng=RNG) == Finish(status="succeeded")


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (rb'"a\u0000b"', r'"a\ufffdb"'),
        (rb'"\\u0000"', r'"\\u0000"'),
        (rb'"\\\u0000\u0000"', r'"\\\ufffd\ufffd"'),
    ],
)
def test_a_result_is_one_that_jsonb_accepts(result: bytes, kept: str) -> None:
    decision = decide(Succeeded(result=result), 1, Options(), age=0, rng=RNG)
    assert isinstance(decision, Finish)
    assert decision.result == kept


def test_a_retryable_failure_with_attempts_left_is_retried() -> None:
    decision = retried(Failed(error="busy", retryable=True, status_code=503))
    assert (decision.error, decision.status_code) == ("busy", 503)


def test_the_last_attempt_ends_it() -> None:
    decision = decide(
        Failed(error="busy", retryable=True, status_code=503), DEFAULT_ATTEMPTS, Options(), age=0, rng=RNG
    )
    assert decision == Finish(status="failed", status_code=503, reason="busy")


def test_a_final_failure_ends_it_at_once() -> None:
    decision = decide(Failed(error="gone", retryable=False, status_code=410), 1, Options(), age=0, rng=RNG)
    assert decision == Finish(status="failed", status_code=410, reason="gone")


def test_a_target_can_put_its_retry_off() -> None:
    wanted = timedelta(minutes=10)
    assert retried(Failed(error="busy", retryable=True, retry_after=wanted)).after == wanted


def test_a_target_cannot_hurry_its_retry() -> None:
    options = Options(backoff=Backoff(initial=60.0, maximum=60.0))
    hurried = decide(
        Failed(error="busy", retryable=True, retry_after=timedelta(0)), 1, options, age=0, rng=random.Random(2)
    )
    unhurried = decide(Failed(error="busy", retryable=True), 1, options, age=0, rng=random.Random(2))
    assert hurried == unhurried


def test_a_target_cannot_put_its_retry_off_for_more_than_a_day() -> None:
    after = retried(Failed(error="busy", retryable=True, retry_after=timedelta(days=365))).after
    assert after == LONGEST_RETRY_AFTER


def test_a_released_row_is_handed_back_whatever_its_attempt() -> None:
    assert decide(Released(), 5, Options(), age=0, rng=RNG) == HandBack()


def test_a_released_row_can_be_left_alone_for_a_while() -> None:
    after = timedelta(seconds=2)
    assert decide(Released(after=after), 5, Options(), age=0, rng=RNG) == Postpone(after=after)


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("attempt", [1, 5, 1000])
def test_who_asks_to_be_called_later_has_not_failed_whatever_its_attempt(attempt: int) -> None:
    decision = decide(Postponed(after=HOUR, reason="busy"), attempt, Options(), age=0, rng=RNG)
    assert decision == Postpone(after=HOUR)


@pytest.mark.parametrize(("asked", "given"), [(0.0, 1.0), (-5.0, 1.0), (90_000.0, 86_400.0)])
def test_it_is_called_again_after_a_second_at_the_earliest_and_a_day_at_the_latest(asked: float, given: float) -> None:
    decision = decide(Postponed(after=timedelta(seconds=asked), reason="busy"), 1, Options(), age=0, rng=RNG)
    assert decision == Postpone(after=timedelta(seconds=given))


def test_who_asks_for_a_moment_past_the_relevancy_window_expires() -> None:
    options = Options(relevant_for=1800.0)
    decision = decide(Postponed(after=HOUR, reason="busy"), 1, options, age=0, rng=RNG)
    assert decision == Finish(status="expired", reason="busy; not begun within PT30M of its instant")


@pytest.mark.parametrize("options", [Options(deadline=1800.0), Options(max_retry_age=1800.0)])
def test_who_asks_for_a_moment_past_another_bound_of_its_age_fails(options: Options) -> None:
    decision = decide(Postponed(after=HOUR, reason="busy"), 1, options, age=0, rng=RNG)
    assert isinstance(decision, Finish)
    assert decision.status == "failed"


def test_a_week_after_its_instant_each_further_time_counts_as_a_failed_attempt() -> None:
    age = POSTPONED_WITHIN.total_seconds() - 1800
    again = decide(Postponed(after=HOUR, reason="busy"), 4, Options(), age=age, rng=RNG)
    assert again == RetryAfter(after=HOUR, error="busy")
    last = decide(Postponed(after=HOUR, reason="busy"), DEFAULT_ATTEMPTS, Options(), age=age, rng=RNG)
    assert last == Finish(status="failed", reason="busy")


def test_nothing_is_left_to_do_for_a_settled_row() -> None:
    assert decide(Settled(), 1, Options(), age=0, rng=RNG) == Leave()


@given(st.text(alphabet=st.characters(), max_size=5000))
def test_an_error_is_kept_as_text_that_the_database_accepts(error: str) -> None:
    kept = retried(Failed(error=error, retryable=True)).error
    assert len(kept) <= 2000
    assert "\0" not in kept
    kept.encode("utf-8")


@given(st.integers(1, 2000), st.integers(1, 1000), st.booleans())
def test_no_row_gets_more_attempts_than_its_policy(attempt: int, allowed: int, retryable: bool) -> None:
    decision = decide(Failed(error="e", retryable=retryable), attempt, Options(max_attempts=allowed), age=0, rng=RNG)
    assert isinstance(decision, RetryAfter) == (retryable and attempt < allowed)


BUSY = Failed(error="busy", retryable=True, status_code=503)
IN_A_MINUTE = Waits(seconds=(60.0,))


@pytest.mark.parametrize(("age", "late"), [(-0.1, False), (29.9, False), (30.0, False), (30.1, True)])
def test_an_execution_expires_past_its_relevancy_window(age: float, late: bool) -> None:
    found = lateness(Options(relevant_for=30), 1, age)
    assert found == (Late(status="expired", reason="not begun within PT30S of its instant") if late else None)


def test_an_attempt_that_would_begin_at_the_deadline_or_after_fails() -> None:
    assert lateness(Options(deadline=30), 1, 29.9) is None
    found = lateness(Options(deadline=30), 1, 30.0)
    assert found == Late(status="failed", reason="not begun before its deadline, PT30S after its instant")


def test_without_bounds_nothing_is_ever_late() -> None:
    assert lateness(Options(), 2, 1e9) is None


def test_what_was_too_late_to_begin_does_not_count_as_an_attempt() -> None:
    decision = decide(Late(status="expired", reason="late"), 1, Options(), age=0, rng=RNG)
    assert decision == Finish(status="expired", reason="late", begun=False)


@pytest.mark.parametrize(
    ("bound", "status", "reason"),
    [
        ({"relevant_for": 100.0}, "expired", "busy; not begun within PT1M40S of its instant"),
        ({"max_retry_age": 100.0}, "failed", "busy; no retry begins later than PT1M40S after its instant"),
        ({"deadline": 100.0}, "failed", "busy; not begun before its deadline, PT1M40S after its instant"),
    ],
)
def test_a_retry_that_would_begin_out_of_bounds_is_not_waited_for(
    bound: dict[str, float], status: str, reason: str
) -> None:
    options = Options(backoff=IN_A_MINUTE, **bound)  # type: ignore[arg-type]
    assert isinstance(decide(BUSY, 1, options, age=39.9, rng=RNG), RetryAfter)
    decision = decide(BUSY, 1, options, age=41, rng=RNG)
    assert decision == Finish(status=status, status_code=503, reason=reason)  # type: ignore[arg-type]


def test_a_first_attempt_that_is_very_late_has_no_retry_but_is_made() -> None:
    options = Options(max_retry_age=10, backoff=IN_A_MINUTE)
    assert lateness(options, 1, 3600) is None
    assert lateness(options, 2, 3600) == Late(
        status="failed", reason="no retry begins later than PT10S after its instant"
    )
    assert isinstance(decide(BUSY, 1, options, age=3600, rng=RNG), Finish)


@given(st.floats(0, 1000), st.floats(0.1, 1000), st.floats(0.1, 1000), st.floats(0.1, 1000), st.integers())
def test_no_retry_ever_begins_out_of_bounds(
    age: float, relevant_for: float, max_retry_age: float, deadline: float, seed: int
) -> None:
    options = Options(relevant_for=relevant_for, max_retry_age=max_retry_age, deadline=deadline)
    decision = decide(BUSY, 2, options, age=age, rng=random.Random(seed))
    if isinstance(decision, RetryAfter):
        begins = age + decision.after.total_seconds()
        assert begins <= min(relevant_for, max_retry_age, deadline)
