"""Rules: parsing and error messages."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from pgsched.domain.excluded_times import Between, ExcludedDays, Pattern
from pgsched.domain.recurrence_rules import MOST_PATTERNS, Also, OnMissed, OnOverlap, Rules, parse_rules
from pgsched.errors import InvalidSchedule


@pytest.mark.parametrize("raw", [None, b"{}", "{}", {}, {"jitter": None}])
def test_without_rules_the_defaults_apply(raw: Any) -> None:
    assert parse_rules(raw) == Rules()


def test_all_rules_are_parsed() -> None:
    found = parse_rules(
        {
            "also": [{"cron": "0 9 * * SAT", "timezone": "Asia/Tokyo"}, {"fire_at": "2026-05-01T10:00:00+02:00"}],
            "exclude": [
                "2026-12-25",
                "2026-12-24/2026-12-31",
                "2026-12-24T18:00:00Z/2026-12-27T07:00:00+01:00",
                "* 0-6 * *  SAT,SUN",
            ],
            "starts_at": "2026-01-01T00:00:00+01:00",
            "ends_at": "2027-01-01T00:00:00Z",
            "max_runs": 10,
            "jitter": "5m",
            "on_overlap": "queue_one",
            "on_missed": "all",
            "catch_up": "PT1H",
            "pause_after": 5,
            "delete_after": "7d",
        }
    )
    assert found == Rules(
        also=(Also(cron="0 9 * * SAT", timezone="Asia/Tokyo"), Also(fire_at="2026-05-01T10:00:00+02:00")),
        exclude=(
            ExcludedDays(first=date(2026, 12, 25), last=date(2026, 12, 25)),
            ExcludedDays(first=date(2026, 12, 24), last=date(2026, 12, 31)),
            Between(start=datetime(2026, 12, 24, 18, tzinfo=UTC), end=datetime(2026, 12, 27, 6, tzinfo=UTC)),
            Pattern(expression="* 0-6 * * SAT,SUN"),
        ),
        starts_at=datetime(2025, 12, 31, 23, tzinfo=UTC),
        ends_at=datetime(2027, 1, 1, tzinfo=UTC),
        max_runs=10,
        jitter=timedelta(minutes=5),
        on_overlap=OnOverlap.QUEUE_ONE,
        on_missed=OnMissed.ALL,
        catch_up=timedelta(hours=1),
        pause_after=5,
        delete_after=timedelta(days=7),
    )


def test_interval_rules_are_parsed() -> None:
    found = parse_rules('{"anchor": "2026-01-01T00:00:00Z", "after_completion": true}')
    assert found == Rules(anchor=datetime(2026, 1, 1, tzinfo=UTC), after_completion=True)
    assert parse_rules('{"window": "30m", "after_completion": false}') == Rules(window=timedelta(minutes=30))


def test_identical_rules_are_parsed_only_once() -> None:
    text = '{"exclude": ["2026-12-25"]}'
    assert parse_rules(text) is parse_rules(text)


@pytest.mark.parametrize(
    ("raw", "advice"),
    [
        ("{", "rules are not JSON"),
        ("[]", "write an object such as"),
        ({"fire_at": datetime}, "cannot be written as JSON"),
        ('{"also": [{"cron": "0 25 * * *"}]}', "in \"also\": cron hour '25' is not valid"),
        ('{"exclude": ["christmas"]}', "\"exclude\" 'christmas' is neither a date nor a cron expression"),
        ('{"exclude": ["2026-02-30"]}', "write one such as 2026-12-25"),
        ('{"exclude": ["2026-12-24T18:00:00Z"]}', "write a date (2026-12-25), a range of dates"),
        ('{"jitters": "5m"}', "there is no rule 'jitters'; the rules are also, exclude,"),
        ('{"jitter": 5}', 'such as "PT5M" or "5m" (got 5)'),
        ('{"on_missed": "none"}', "write one of latest, all, skip"),
        ('{"max_runs": 0}', "a whole number from 1 to 1000000000 (got 0)"),
        ('{"jitter": "5m", "window": "5m"}', "leave one of them out"),
        (
            '{"after_completion": true, "exclude": ["2026-12-25"]}',
            '"exclude" cannot be combined with "after_completion"',
        ),
    ],
)
def test_an_invalid_rule_is_refused_with_advice(raw: Any, advice: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_rules(raw)
    assert advice in str(refusal.value)


def test_durations_and_instants_may_be_python_objects() -> None:
    rules = parse_rules({"jitter": timedelta(minutes=5), "starts_at": datetime(2026, 3, 1, tzinfo=UTC)})
    assert (rules.jitter, rules.starts_at) == (timedelta(minutes=5), datetime(2026, 3, 1, tzinfo=UTC))


def test_an_exclude_rule_may_have_hundreds_of_dates_but_only_20_patterns() -> None:
    dates = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    patterns = [f"* {hour} * * *" for hour in range(MOST_PATTERNS)]
    assert len(parse_rules({"exclude": dates + patterns}).exclude) == len(dates) + MOST_PATTERNS
    with pytest.raises(InvalidSchedule, match="over 20 cron expressions"):
        parse_rules({"exclude": [*dates, *patterns, "* 22 * * *"]})
