"""``decide``: what an attempt's outcome means for an execution, under its options."""

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pgsched.domain.attempt_outcome import is_late
from pgsched.domain.execution_options import DEFAULT_ATTEMPTS, parse_options
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
_SHARES = st.integers(0, 2**53).map(lambda drawn: drawn / 2**53)  # as random() draws them, so that nothing underflows
_DECIDE = """
select status::text, delay, reason
  from pgsched_internal.decide(%s, %s, %s, %s, %s, %s, %s::jsonb, 'default', 0::smallint, 1, %s)"""
HOUR = 3600.0
WEEK = 7 * 24 * HOUR
MINUTELY = {"backoff": ["1m"] * 30}
_drawn = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def decide(
    db: Connection,
    outcome: str,
    options: dict[str, Any] | None = None,
    *,
    attempt: int = 1,
    age: float = 0.0,
    error: str | None = "busy",
    retryable: bool = True,
    wait: float | None = None,
    share: float = 0.5,
) -> tuple[str, float | None, str | None]:
    """Decide on an execution with these options, ``age`` seconds after its instant."""
    text = orjson.dumps(options).decode() if options is not None else None
    status, delay, reason = row(db, _DECIDE, [outcome, error, retryable, wait, attempt, age, text, share])
    return status, delay, reason


def test_a_success_ends_the_execution(db: Connection) -> None:
    assert decide(db, "succeeded", error=None) == ("succeeded", None, None)


def test_the_first_retry_is_delayed_by_half_a_second_to_a_second(db: Connection) -> None:
    status, delay, reason = decide(db, "failed")
    assert (status, reason) == ("retrying", "busy")
    assert delay is not None
    assert 0.5 <= delay <= 1


@pytest.mark.parametrize(
    ("options", "attempt"), [(None, DEFAULT_ATTEMPTS), ({"max_attempts": 3}, 3), ({"backoff": ["1s", "2s"]}, 3)]
)
def test_a_failed_last_attempt_ends_the_execution(db: Connection, options: dict[str, Any] | None, attempt: int) -> None:
    assert decide(db, "failed", options, attempt=attempt) == ("failed", None, "busy")
    assert decide(db, "failed", options, attempt=attempt - 1)[0] == "retrying"


def test_a_non_retryable_failure_ends_the_execution(db: Connection) -> None:
    assert decide(db, "failed", retryable=False, error="gone") == ("failed", None, "gone")


@pytest.mark.parametrize(("asked", "given"), [(600.0, 600.0), (365 * 24 * HOUR, 24 * HOUR), (1e300, 24 * HOUR)])
def test_a_target_can_delay_its_retry_by_at_most_a_day(db: Connection, asked: float, given: float) -> None:
    assert decide(db, "failed", wait=asked)[1] == given


def test_a_target_cannot_retry_sooner_than_the_backoff(db: Connection) -> None:
    assert decide(db, "failed", {"backoff": ["1m"]}, wait=0.0)[1] == 60


@pytest.mark.parametrize("attempt", [1, 5, 1000])
def test_a_postponement_never_counts_as_a_failed_attempt(db: Connection, attempt: int) -> None:
    assert decide(db, "postponed", attempt=attempt, wait=HOUR)[:2] == ("scheduled", HOUR)


@pytest.mark.parametrize(("asked", "given"), [(0.0, 1.0), (-5.0, 1.0), (90_000.0, 86_400.0)])
def test_a_postponement_lasts_between_a_second_and_a_day(db: Connection, asked: float, given: float) -> None:
    assert decide(db, "postponed", wait=asked)[1] == given


@pytest.mark.parametrize(
    ("bound", "status", "reason"),
    [
        ("relevant_for", "expired", "not started within 30m of its scheduled time"),
        ("deadline", "failed", "not started before its deadline, 30m after its scheduled time"),
        ("max_retry_age", "failed", "not retried: more than 30m (max_retry_age) after its scheduled time"),
    ],
)
def test_an_execution_whose_next_start_is_too_late_ends_immediately(
    db: Connection, bound: str, status: str, reason: str
) -> None:
    late = (status, None, f"busy; {reason}")
    assert decide(db, "postponed", {bound: "30m"}, wait=HOUR) == late
    assert decide(db, "failed", {bound: "30m", **MINUTELY}, age=1741.0) == late
    assert decide(db, "failed", {bound: "30m", **MINUTELY}, age=1739.0)[0] == "retrying"
    assert decide(db, "late", {bound: "30m"}, attempt=2, age=1801.0, error=None) == (status, None, reason)


def test_an_execution_not_late_by_the_database_clock_is_rescheduled(db: Connection) -> None:
    assert decide(db, "late", {"relevant_for": "30m"}, age=1799.9, error=None) == ("scheduled", 0, None)


def test_a_postponement_past_a_week_counts_as_a_failed_attempt(db: Connection) -> None:
    age = WEEK - 1800
    assert decide(db, "postponed", attempt=4, age=age, wait=HOUR) == ("retrying", HOUR, "busy")
    assert decide(db, "postponed", attempt=DEFAULT_ATTEMPTS, age=age, wait=HOUR) == ("failed", None, "busy")


def test_a_backfilled_row_ignores_the_clients_default_relevant_for_option(db: Connection) -> None:
    query = "select pgsched_internal.options_of('{\"deadline\": \"1h\"}', 'payments', 0::smallint, %s)"
    db.execute(
        "insert into pgsched.clients (client_id, options) values ('payments', %s)",
        ['{"relevant_for": "1m", "max_attempts": 3}'],
    )
    assert value(db, query, [1]) == {"deadline": "1h", "relevant_for": "1m", "max_attempts": 3}
    assert value(db, query, [0]) == {"deadline": "1h", "max_attempts": 3}


@_drawn
@given(
    options=_OPTIONS, attempt=st.integers(1, 1000), age=_AGES, wait=st.sampled_from([None, 0, 1, 90_000]), share=_SHARES
)
@example(options={"relevant_for": "10m"}, attempt=1, age=599.5, wait=None, share=1e-9)
def test_no_retry_violates_its_policy(
    db: Connection, options: dict[str, Any], attempt: int, age: float, wait: float | None, share: float
) -> None:
    policy = parse_options(orjson.dumps(options))
    status, delay, _ = decide(db, "failed", options, attempt=attempt, age=age, wait=wait, share=share)
    if attempt >= policy.max_attempts:
        assert (status, delay) == ("failed", None)
    elif status == "retrying":
        assert delay is not None
        assert not is_late(policy, attempt + 1, age + delay)
        assert delay >= min(wait or 0, 86_400)
        assert delay <= max(wait or 0, 7 * 86_400)
    else:
        assert is_late(policy, attempt + 1, age + 7 * 86_400)


@_drawn
@given(options=_OPTIONS, attempt=st.integers(1, 3), age=_AGES)
def test_workers_and_the_database_agree_on_lateness(
    db: Connection, options: dict[str, Any], attempt: int, age: float
) -> None:
    query = "select status is not null from pgsched_internal.lateness(%s::jsonb, %s, %s)"
    found = value(db, query, [orjson.dumps(options).decode(), attempt, age])
    assert found is is_late(parse_options(orjson.dumps(options)), attempt, age)


@_drawn
@given(
    attempt=st.integers(1, 10_000), initial=st.floats(0.001, 3600), factor=st.floats(1, 100), extra=st.floats(0, 1e5),
    share=_SHARES,
)  # fmt: skip
def test_a_backoff_is_between_half_the_ceiling_and_the_ceiling(
    db: Connection, attempt: int, initial: float, factor: float, extra: float, share: float
) -> None:
    maximum = initial + extra
    given = {"initial": f"PT{initial:.6f}S", "factor": factor, "maximum": f"PT{maximum:.6f}S"}
    query = "select pgsched_internal.backoff(%s::jsonb, %s, %s)"
    found = value(db, query, [orjson.dumps({"backoff": given}).decode(), attempt, share])
    try:
        ceiling = min(maximum, initial * factor ** (attempt - 1))
    except OverflowError:
        ceiling = maximum
    assert found == pytest.approx(ceiling * (0.5 + share / 2), rel=1e-3, abs=2e-6)


def backoff(db: Connection, options: dict[str, Any], attempt: int, share: float) -> float:
    query = "select pgsched_internal.backoff(%s::jsonb, %s, %s)"
    return float(value(db, query, [orjson.dumps(options).decode(), attempt, share]))


def test_default_retries_outlast_an_hour_long_outage(db: Connection) -> None:
    assert sum(backoff(db, {}, attempt, 0.0) for attempt in range(1, DEFAULT_ATTEMPTS)) > 3600
    assert backoff(db, {}, DEFAULT_ATTEMPTS, 1.0) <= 600


def test_a_backoff_list_repeats_its_last_entry(db: Connection) -> None:
    options = {"backoff": ["5s", "1m"], "max_attempts": 5}
    assert [backoff(db, options, attempt, 0.5) for attempt in range(1, 5)] == [5, 60, 60, 60]


def test_an_error_is_truncated_to_2000_characters(db: Connection) -> None:
    assert decide(db, "failed", error="x" * 3_000)[2] == "x" * 2_000
