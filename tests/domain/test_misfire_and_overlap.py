"""Claimed instants: the policy decides which elapsed instants run and which are skipped."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pgsched.domain.misfire_and_overlap import InstantDecision, SkippedRange, decide_instant
from pgsched.domain.recurrence import recurrence
from pgsched.domain.recurrence_rules import parse_rules

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _decide(rules: dict[str, Any], late: timedelta, every: str = "1h") -> InstantDecision:
    parsed = parse_rules(rules)
    return decide_instant(recurrence(every=every, anchor=NINE, rules=parsed), parsed, NINE, NINE + late)


@pytest.mark.parametrize("on_missed", ["latest", "all", "skip"])
@pytest.mark.parametrize("late", [timedelta(milliseconds=-300), timedelta(0), timedelta(seconds=59)])
def test_a_punctual_row_runs_and_the_next_instant_follows(on_missed: str, late: timedelta) -> None:
    assert _decide({"on_missed": on_missed}, late) == InstantDecision(runs=True, successor=NINE + HOUR)


def test_missed_instants_coalesce_into_the_latest_instant() -> None:
    reason = "coalesced_into 2026-03-01T12:00:00Z"
    skipped = SkippedRange(first=NINE, last=NINE + 2 * HOUR, count=3, reason=reason)
    expected = InstantDecision(runs=False, skipped=(skipped,), successor=NINE + 3 * HOUR)
    assert _decide({}, 3 * HOUR) == expected
    assert _decide({}, 3.9 * HOUR) == expected


def test_the_last_missed_instant_runs_however_late_it_is() -> None:
    assert _decide({}, 0.9 * HOUR) == InstantDecision(runs=True, successor=NINE + HOUR)
    assert _decide({"ends_at": "2026-03-01T10:00:00Z"}, 100 * HOUR) == InstantDecision(runs=True)


def test_with_on_missed_all_every_missed_instant_runs_in_turn() -> None:
    assert _decide({"on_missed": "all"}, 100 * HOUR) == InstantDecision(runs=True, successor=NINE + HOUR)


def test_with_on_missed_skip_an_instant_up_to_a_minute_late_still_runs() -> None:
    missed = SkippedRange(first=NINE, last=NINE + HOUR, count=2, reason="missed")
    expected = InstantDecision(runs=False, skipped=(missed,), successor=NINE + 2 * HOUR)
    assert _decide({"on_missed": "skip"}, 1.5 * HOUR) == expected
    assert _decide({"on_missed": "skip"}, 2 * HOUR + timedelta(minutes=1)) == expected
    assert _decide({"on_missed": "skip", "catch_up": "2h"}, 1.5 * HOUR) == InstantDecision(
        runs=True, successor=NINE + HOUR
    )


def test_instants_past_the_catch_up_limit_are_missed_and_the_rest_run() -> None:
    missed = SkippedRange(first=NINE, last=NINE + 2 * HOUR, count=3, reason="missed")
    assert _decide({"on_missed": "all", "catch_up": "2h"}, 4.5 * HOUR) == InstantDecision(
        runs=False, skipped=(missed,), successor=NINE + 3 * HOUR
    )


def test_instants_past_the_catch_up_limit_are_missed_and_others_coalesce() -> None:
    assert _decide({"catch_up": "2h"}, 4.5 * HOUR) == InstantDecision(
        runs=False,
        skipped=(
            SkippedRange(first=NINE, last=NINE + 2 * HOUR, count=3, reason="missed"),
            SkippedRange(
                first=NINE + 3 * HOUR, last=NINE + 3 * HOUR, count=1, reason="coalesced_into 2026-03-01T13:00:00Z"
            ),
        ),
        successor=NINE + 4 * HOUR,
    )


def test_a_future_instant_is_planned_if_all_missed_instants_are_too_old() -> None:
    missed = SkippedRange(first=NINE, last=NINE + 4 * HOUR, count=5, reason="missed")
    assert _decide({"catch_up": "5m"}, 4.5 * HOUR) == InstantDecision(
        runs=False, skipped=(missed,), successor=NINE + 5 * HOUR
    )


def test_a_job_past_its_end_has_no_next_instant() -> None:
    rules = {"catch_up": "5m", "ends_at": "2026-03-01T11:00:00Z"}
    missed = SkippedRange(first=NINE, last=NINE + HOUR, count=2, reason="missed")
    assert _decide(rules, 4.5 * HOUR) == InstantDecision(runs=False, skipped=(missed,))


@pytest.mark.parametrize("spread", [{"jitter": "10m"}, {"window": "10m"}])
def test_a_row_delayed_within_its_jitter_or_window_is_not_late(spread: dict[str, Any]) -> None:
    late = timedelta(minutes=10, seconds=30)
    assert _decide({"on_missed": "skip", **spread}, late) == InstantDecision(runs=True, successor=NINE + HOUR)
    assert not _decide({"on_missed": "skip", **spread}, late + timedelta(minutes=1)).runs


def test_an_after_completion_job_has_no_successor_yet() -> None:
    assert _decide({"after_completion": True}, 100 * HOUR) == InstantDecision(runs=True)


def test_an_after_completion_row_past_the_jobs_end_does_not_run() -> None:
    rules = parse_rules({"after_completion": True, "ends_at": "2026-03-01T09:30:00Z"})
    past = SkippedRange(first=NINE + HOUR, last=NINE + HOUR, count=1, reason="ends_at")
    found = decide_instant(recurrence(every="1h", anchor=NINE, rules=rules), rules, NINE + HOUR, NINE + HOUR)
    assert found == InstantDecision(runs=False, skipped=(past,))


def test_a_row_outside_an_edited_schedule_is_counted_once_as_missed() -> None:
    parsed = parse_rules({"catch_up": "1h"})
    job = recurrence(cron="0 12 * * *", rules=parsed)
    missed = SkippedRange(first=NINE, last=NINE, count=1, reason="missed")
    assert decide_instant(job, parsed, NINE, NINE + 2 * HOUR) == InstantDecision(
        runs=False, skipped=(missed,), successor=NINE + 3 * HOUR
    )


def test_a_year_of_missed_seconds_is_recorded_as_two_ranges() -> None:
    decision = _decide({"catch_up": "1d"}, timedelta(days=365), every="1s")
    assert [part.count for part in decision.skipped] == [364 * 86_400, 86_400]
    assert decision.successor == NINE + timedelta(days=365)
