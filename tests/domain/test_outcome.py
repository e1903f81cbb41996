import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.outcome import (
    LONGEST_RETRY_AFTER,
    Failed,
    Finish,
    HandBack,
    Leave,
    Released,
    Retry,
    Settled,
    Succeeded,
    decide,
)
from pgsched.domain.policy import Backoff, Options

RNG = random.Random(1)


def retried(failure: Failed, options: Options | None = None, attempt: int = 1) -> Retry:
    decision = decide(failure, attempt, options or Options(), rng=RNG)
    assert isinstance(decision, Retry)
    return decision


def test_a_success_is_final_and_keeps_its_result() -> None:
    decision = decide(Succeeded(result=b'{"n":1}', status_code=200), 1, Options(), rng=RNG)
    assert decision == Finish(status="succeeded", status_code=200, result='{"n":1}')


def test_a_success_without_result_keeps_none() -> None:
    assert decide(Succeeded(), 1, Options(), rng=RNG) == Finish(status="succeeded")


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (rb'"a\u0000b"', r'"a\ufffdb"'),
        (rb'"\\u0000"', r'"\\u0000"'),
        (rb'"\\\u0000\u0000"', r'"\\\ufffd\ufffd"'),
    ],
)
def test_a_result_is_one_that_jsonb_accepts(result: bytes, kept: str) -> None:
    decision = decide(Succeeded(result=result), 1, Options(), rng=RNG)
    assert isinstance(decision, Finish)
    assert decision.result == kept


def test_a_retryable_failure_with_attempts_left_is_retried() -> None:
    decision = retried(Failed(error="busy", retryable=True, status_code=503))
    assert (decision.error, decision.status_code) == ("busy", 503)


def test_the_last_attempt_ends_it() -> None:
    decision = decide(Failed(error="busy", retryable=True, status_code=503), 5, Options(), rng=RNG)
    assert decision == Finish(status="failed", status_code=503, reason="busy")


def test_a_final_failure_ends_it_at_once() -> None:
    decision = decide(Failed(error="gone", retryable=False, status_code=410), 1, Options(), rng=RNG)
    assert decision == Finish(status="failed", status_code=410, reason="gone")


def test_a_target_can_put_its_retry_off() -> None:
    wanted = timedelta(minutes=10)
    assert retried(Failed(error="busy", retryable=True, retry_after=wanted)).after == wanted


def test_a_target_cannot_hurry_its_retry() -> None:
    options = Options(backoff=Backoff(initial=60.0, maximum=60.0))
    hurried = decide(Failed(error="busy", retryable=True, retry_after=timedelta(0)), 1, options, rng=random.Random(2))
    unhurried = decide(Failed(error="busy", retryable=True), 1, options, rng=random.Random(2))
    assert hurried == unhurried


def test_a_target_cannot_put_its_retry_off_for_more_than_a_day() -> None:
    after = retried(Failed(error="busy", retryable=True, retry_after=timedelta(days=365))).after
    assert after == LONGEST_RETRY_AFTER


def test_a_released_row_is_handed_back_whatever_its_attempt() -> None:
    assert decide(Released(), 5, Options(), rng=RNG) == HandBack()


def test_nothing_is_left_to_do_for_a_settled_row() -> None:
    assert decide(Settled(), 1, Options(), rng=RNG) == Leave()


@given(st.text(alphabet=st.characters(), max_size=5000))
def test_an_error_is_kept_as_text_that_the_database_accepts(error: str) -> None:
    kept = retried(Failed(error=error, retryable=True)).error
    assert len(kept) <= 2000
    assert "\0" not in kept
    kept.encode("utf-8")


@given(st.integers(1, 2000), st.integers(1, 1000), st.booleans())
def test_no_row_gets_more_attempts_than_its_policy(attempt: int, allowed: int, retryable: bool) -> None:
    decision = decide(Failed(error="e", retryable=retryable), attempt, Options(max_attempts=allowed), rng=RNG)
    assert isinstance(decision, Retry) == (retryable and attempt < allowed)
