"""What becomes of a failed try is the same in SQL, for consumers, as in domain/outcome.py, for workers."""

import random
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgsched.domain.duration import format_duration
from pgsched.domain.outcome import Failed, Finish, RetryAfter, decide, lateness
from pgsched.domain.policy import parse_options
from tests.store.store_arrange import Connection, row, value

_DURATIONS = ["100ms", "1s", "PT5S", "90s", "1h30m", "10m", "P1D", "2d", "PT0.25S", "1w"]
_WAITS = ["1ms", "250ms", "1s", "PT5S", "10m", "1h", "P1D"]
_BACKOFFS = st.one_of(
    st.lists(st.sampled_from(_WAITS), min_size=1, max_size=5),
    st.fixed_dictionaries(
        {},
        optional={
            "initial": st.sampled_from(["1ms", "1s", "10m", "2h"]),
            "factor": st.sampled_from([1, 1.5, 2, 10, 100]),
            "maximum": st.sampled_from(["2h", "1d", "7d"]),
        },
    ),
)
_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_attempts": st.integers(1, 1000),
        "backoff": _BACKOFFS,
        "relevant_for": st.sampled_from(_DURATIONS),
        "deadline": st.sampled_from(_DURATIONS),
        "max_retry_age": st.sampled_from(_DURATIONS),
    },
)
_AGES = st.one_of(st.floats(0, 20, allow_nan=False), st.sampled_from([0.05, 89.9, 599.5, 5400.5, 86_401.0, 1e6]))
_SHARES = st.integers(0, 2**53).map(lambda drawn: drawn / 2**53)  # as random() draws them: nothing below can underflow
_QUERY = """
select status::text, delay, reason
  from pgsched_internal.after_failure(%s::jsonb, %s, %s, %s, %s, %s::interval, %s)"""


class Drawn(random.Random):
    """Draws the same every time."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self._share


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    options=_OPTIONS,
    attempt=st.integers(1, 1000),
    age=_AGES,
    retryable=st.booleans(),
    after=st.sampled_from([None, 0, 1, 3_600, 90_000]),
    share=_SHARES,
)
@example(options={"relevant_for": "10m"}, attempt=1, age=599.5, retryable=True, after=None, share=1e-9)
def test_a_failure_is_decided_alike(
    db: Connection, options: dict[str, Any], attempt: int, age: float, retryable: bool, after: int | None, share: float
) -> None:
    wait = None if after is None else timedelta(seconds=after)
    outcome = Failed(error="no paper", retryable=retryable, retry_after=wait)
    decision = decide(outcome, attempt, parse_options(orjson.dumps(options)), age=age, rng=Drawn(share))
    text = orjson.dumps(options).decode()
    status, delay, reason = row(db, _QUERY, [text, attempt, age, "no paper", retryable, wait, share])
    match decision:
        case RetryAfter():
            assert (status, reason) == ("retrying", decision.error)
            assert delay == pytest.approx(decision.after.total_seconds(), rel=1e-9, abs=2e-6)
        case Finish():
            assert (status, reason, delay) == (decision.status, decision.reason, None)
        case _:
            raise AssertionError(decision)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=_OPTIONS, attempt=st.integers(1, 3), age=_AGES)
def test_what_is_too_late_to_begin_is_so_in_both(
    db: Connection, options: dict[str, Any], attempt: int, age: float
) -> None:
    late = lateness(parse_options(orjson.dumps(options)), attempt, age)
    query = "select status::text, reason from pgsched_internal.lateness(%s::jsonb, %s, %s)"
    found = row(db, query, [orjson.dumps(options).decode(), attempt, age])
    assert found == ((late.status, late.reason) if late else (None, None))


@given(microseconds=st.integers(0, 10**15))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_length_of_time_is_written_alike(db: Connection, microseconds: int) -> None:
    length = timedelta(microseconds=microseconds)
    assert value(db, "select pgsched_internal.duration_text(%s)", [length.total_seconds()]) == format_duration(length)


def test_an_error_is_kept_up_to_the_same_length(db: Connection) -> None:
    _, _, reason = row(db, _QUERY, ["{}", 9, 0.0, "x" * 3_000, True, None, 0.5])
    assert reason == "x" * 2_000
