"""Checks in Python before the database sees an outcome: that text can be stored, and whether an attempt is late."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.attempt_outcome import is_late, json_text, kept_error, longest_deferred
from pgsched.domain.execution_options import Options


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (rb'"a\u0000b"', r'"a\ufffdb"'),
        (rb'"\\u0000"', r'"\\u0000"'),
        (rb'"\\\u0000\u0000"', r'"\\\ufffd\ufffd"'),
        (b'"\xff"', '"\ufffd"'),
    ],
)
def test_characters_that_jsonb_cannot_hold_are_replaced_in_a_result(result: bytes, kept: str) -> None:
    assert json_text(result) == kept


@given(st.text(alphabet=st.characters(), max_size=5000))
def test_any_error_is_cut_to_text_that_the_database_accepts(error: str) -> None:
    kept = kept_error(error)
    assert len(kept) <= 2000
    assert "\0" not in kept
    kept.encode("utf-8")


@pytest.mark.parametrize(("age", "late"), [(-0.1, False), (29.9, False), (30.0, False), (30.1, True)])
def test_an_execution_is_late_after_its_relevant_for_period(age: float, late: bool) -> None:
    assert is_late(Options(relevant_for=30), 1, age) is late


@pytest.mark.parametrize(("age", "late"), [(29.9, False), (30.0, True)])
def test_an_attempt_starting_at_or_after_the_deadline_is_late(age: float, late: bool) -> None:
    assert is_late(Options(deadline=30), 1, age) is late


def test_the_max_retry_age_limit_applies_to_retries_only() -> None:
    assert not is_late(Options(max_retry_age=10), 1, 3600)
    assert is_late(Options(max_retry_age=10), 2, 3600)


def test_an_attempt_without_time_limits_is_never_late() -> None:
    assert not is_late(Options(), 2, 1e9)


@pytest.mark.parametrize(("age", "seconds"), [(0, 60), (50, 50), (200, 0)])
def test_a_deferred_completion_may_not_outlast_the_deadline(age: float, seconds: float) -> None:
    assert longest_deferred(Options(deferred=60.0, deadline=100.0), age) == seconds
