"""Recurrences: combined schedules, exclusions, bounds and previews."""

from datetime import UTC, datetime, timedelta
from time import process_time
from typing import Any

import pytest

from pgsched.domain.counting_instants import Missed
from pgsched.domain.recurrence import Recurrence, recurrence
from pgsched.domain.recurrence_rules import parse_rules
from pgsched.domain.schedule import next_instant
from pgsched.errors import InvalidSchedule

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _job(rules: dict[str, Any] | None = None, **columns: Any) -> Recurrence:
    return recurrence(**columns, rules=parse_rules(rules))


def _shown(found: list[datetime]) -> list[str]:
    return [f"{at:%m-%dT%H:%M}" for at in found]


@pytest.mark.parametrize(
    ("columns", "rules", "expected"),
    [
        (
            {"cron": "0 9 * * *"},
            {"also": [{"cron": "0 21 * * *"}]},
            ["01-01T09:00", "01-01T21:00", "01-02T09:00"],
        ),
        (
            {"cron": "0 9 * * *"},
            {"also": [{"cron": "0 9 * * THU"}, {"every": "24h", "anchor": "2025-01-01T09:00:00Z"}]},
            ["01-01T09:00", "01-02T09:00", "01-03T09:00"],
        ),
        (
            {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"},
            {"also": [{"cron": "0 10 * * *"}, {"cron": "0 10 * * *", "timezone": "UTC"}]},
            ["01-01T01:00", "01-01T10:00", "01-02T00:00"],
        ),
        (
            {"every": "12h", "anchor": "2025-12-31T06:00:00Z"},
            {"also": [{"every": "1d"}, {"fire_at": "2026-01-01T07:00:00Z"}]},
            ["01-01T06:00", "01-01T07:00", "01-01T18:00"],
        ),
        (
            {"every": "12h", "anchor": "2025-12-31T06:00:00Z"},
            {"anchor": "2025-12-31T05:00:00Z"},
            ["01-01T05:00", "01-01T17:00", "01-02T05:00"],
        ),
        (
            {"cron": "0 9 * * *"},
            {"exclude": ["2026-01-01", "2026-01-03/2026-01-31"]},
            ["01-02T09:00", "02-01T09:00", "02-02T09:00"],
        ),
        (
            {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"},
            {"exclude": ["2026-01-02"]},
            ["01-03T00:00", "01-04T00:00", "01-05T00:00"],
        ),
        (
            {"every": "6h", "anchor": "2026-01-01T00:00:00Z", "timezone": "America/New_York"},
            {"exclude": ["2026-01-01"]},
            ["01-02T06:00", "01-02T12:00", "01-02T18:00"],
        ),
        (
            {"cron": "0 */6 * * *"},
            {"exclude": ["2026-01-01T06:00:00Z/2026-01-01T18:00:00Z"]},
            ["01-01T18:00", "01-02T00:00", "01-02T06:00"],
        ),
        (
            {"cron": "*/30 * * * *", "timezone": "Europe/Berlin"},
            {"exclude": ["* 0-22 * * *"]},
            ["01-01T22:00", "01-01T22:30", "01-02T22:00"],
        ),
        (
            {"cron": "0 9 * * *"},
            {"exclude": ["* * * 1-6 *"]},
            ["07-01T09:00", "07-02T09:00", "07-03T09:00"],
        ),
        (
            {"cron": "0 9 * * *"},
            {"starts_at": "2026-01-05T09:00:00Z", "ends_at": "2026-01-07T09:00:00Z"},
            ["01-05T09:00", "01-06T09:00"],
        ),
    ],
)
def test_rules_determine_the_first_instants_of_2026(
    columns: dict[str, Any], rules: dict[str, Any], expected: list[str]
) -> None:
    assert _shown(_job(rules, **columns).instants(NEW_YEAR, 3)) == expected


def test_a_six_field_pattern_excludes_seconds() -> None:
    job = _job({"exclude": ["0-57 * * * * *"]}, cron="* * * * * *")
    assert [at.second for at in job.instants(NEW_YEAR, 4)] == [58, 59, 58, 59]


def test_a_pattern_excludes_both_passes_of_a_repeated_hour() -> None:
    job = _job({"exclude": ["* 2 * * *"]}, cron="0,30 * * * *", timezone="Europe/Berlin")
    assert _shown(job.instants(_at("2026-10-24T23:00"), 3)) == ["10-24T23:30", "10-25T02:00", "10-25T02:30"]


def test_excluding_a_day_that_the_zone_skipped_has_no_effect() -> None:
    job = _job({"exclude": ["2011-12-30"]}, cron="0 */12 * * *", timezone="Pacific/Apia")
    assert _shown(job.instants(_at("2011-12-29T12:00"), 3)) == ["12-29T22:00", "12-30T10:00", "12-30T22:00"]


def test_an_h_in_an_additional_schedule_depends_on_the_jobs_identity() -> None:
    rules = parse_rules({"also": [{"cron": "H H * * *"}]})
    jobs = [recurrence(cron="0 0 1 1 *", identity=f"payments/{n}", rules=rules) for n in range(50)]
    assert len({job.next_instant(NEW_YEAR) for job in jobs}) > 40


def test_after_completion_counts_the_interval_from_the_end_of_the_run() -> None:
    job = _job({"after_completion": True, "ends_at": "2026-01-02T00:00:00Z"}, every="1h", anchor=NEW_YEAR)
    assert job.next_instant(_at("2025-12-31T12:00")) == NEW_YEAR
    assert job.next_instant(_at("2026-01-01T00:17:03")) == _at("2026-01-01T01:17:03")
    assert job.next_instant(_at("2026-01-01T23:00")) is None
    assert job.missed(NEW_YEAR, NEW_YEAR + YEAR) is None


@pytest.mark.parametrize(
    ("columns", "rules"),
    [
        ({"cron": "0 3 * * *", "timezone": "Europe/Berlin"}, {"exclude": ["* 3 * * *"]}),
        ({"cron": "* * * * * *"}, {"exclude": ["* 1-23 * * *", "* 0 * * *"]}),
        ({"cron": "*/10 * * * * *"}, {"exclude": ["* * 1-15 * *", "* * 16-31 * *"]}),
        ({"every": "1d", "anchor": NEW_YEAR}, {"exclude": ["0 0 * * *"]}),
        ({"cron": "0 0 29 2 *"}, {"starts_at": "2026-01-01T00:00:00Z", "ends_at": "2028-01-01T00:00:00Z"}),
        ({"every": "1h", "anchor": "2030-01-01T00:00:00Z"}, {"ends_at": "2029-01-01T00:00:00Z"}),
    ],
)
def test_a_job_that_would_never_fire_is_refused(columns: dict[str, Any], rules: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule, match="would never fire within its rules"):
        _job(rules, **columns)


def test_a_rare_instant_is_found_past_excluded_instants() -> None:
    leap_days = _job({"exclude": ["2028-02-29", "* * * * SUN"]}, cron="0 0 29 2 *")
    assert leap_days.next_instant(NEW_YEAR) == _at("2036-02-29T00:00")  # 2032-02-29 is a Sunday
    last_day = _job({"exclude": ["* * * 1-11 *", "* * 1-30 * *"]}, cron="* * * * * *")
    assert last_day.next_instant(NEW_YEAR) == _at("2026-12-31T00:00")


def test_a_job_past_its_end_has_no_next_instant_but_lists_earlier_ones() -> None:
    job = _job({"ends_at": "2020-01-01T00:00:00Z"}, cron="0 9 * * *")
    assert job.next_instant(NEW_YEAR) is None
    assert job.instants(_at("2019-12-30T12:00"), 5) == [_at("2019-12-31T09:00")]


def test_a_job_without_rules_follows_its_schedule() -> None:
    job = _job(cron="30 2 * * *", timezone="Europe/Berlin", gap="skip", overlap="both")
    after = _at("2026-03-28T12:00")
    assert len(job.specs) == 1
    assert job.next_instant(after) == next_instant(job.specs[0], after)


def test_columns_of_other_schedule_kinds_are_ignored() -> None:
    assert (
        _job(every="1h", timezone="Asia/Tokyo", gap="shift", overlap="first", anchor=NEW_YEAR).timezone == "Asia/Tokyo"
    )
    assert _job(cron="0 9 * * *", anchor=NEW_YEAR).next_instant(NEW_YEAR) == _at("2026-01-01T09:00")


@pytest.mark.parametrize("bounds", [None, {"starts_at": "2026-01-01T00:00:00Z"}])
def test_an_instant_without_an_offset_is_refused(bounds: dict[str, Any] | None) -> None:
    with pytest.raises(InvalidSchedule, match="has no offset"):
        _job(bounds, cron="0 9 * * *").next_instant(datetime(2026, 1, 1))


def test_a_preview_shows_local_time_and_dst_notes() -> None:
    rules = {"also": [{"cron": "0 5 * * *", "timezone": "UTC"}, {"fire_at": "2026-03-29T04:30:00Z"}]}
    fires = _job(rules, cron="30 2 * * *", timezone="Europe/Berlin").fires(_at("2026-03-29T00:00"), 3)
    assert [(fire.local, fire.note) for fire in fires] == [
        ("2026-03-29T03:00:00+02:00", "shifted from 02:30: the clocks go forward"),
        ("2026-03-29T06:30:00+02:00", None),
        ("2026-03-29T07:00:00+02:00", None),
    ]


@pytest.mark.parametrize(
    ("columns", "rules", "count"),
    [
        ({"cron": "* * * * * *", "timezone": "Europe/Berlin"}, {}, 31_536_000),
        ({"every": "1.5s", "anchor": "2026-01-01T00:00:00Z"}, {}, 21_024_000),
        ({"cron": "* * * * * *"}, {"exclude": ["* 0-11 * * *"]}, 15_768_000 + 1),
        ({"cron": "* * * * * *"}, {"also": [{"every": "2s", "anchor": "2020-01-01T00:00:00.5Z"}]}, 47_304_000),
        (
            {"cron": "* * * * * *", "timezone": "Africa/Casablanca"},
            {"also": [{"cron": "*/5 * * * *", "timezone": "Pacific/Apia"}], "exclude": ["2026-12-25"]},
            31_536_000 - 86_400,
        ),
    ],
)
def test_counting_a_year_of_one_second_instants_is_fast(
    columns: dict[str, Any], rules: dict[str, Any], count: int
) -> None:
    job, began = _job(rules, **columns), process_time()
    missed = job.missed(NEW_YEAR, NEW_YEAR + YEAR)
    took = process_time() - began
    assert missed is not None
    assert missed.last - NEW_YEAR > YEAR - timedelta(seconds=86_400 + 1)
    assert missed.count == count if "exclude" not in rules or "12-25" in str(rules) else abs(missed.count - count) <= 1
    assert took < 2  # about 0.05 on an idle machine


def test_excepted_instants_are_neither_fired_nor_counted() -> None:
    plain = recurrence(cron="0 * * * *")
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    out = frozenset(begin + timedelta(hours=n) for n in (1, 2, 4, 6))
    found = recurrence(cron="0 * * * *", exceptions=out)
    last = begin + timedelta(hours=6)
    left = [begin + timedelta(hours=n) for n in (0, 3, 5)]
    assert found.instants(begin - timedelta(seconds=1), 3) == left
    assert found.missed(begin - timedelta(seconds=1), last) == Missed(count=3, first=left[0], last=left[-1])
    assert found.by_hour(begin, last) == dict.fromkeys(left, 1)
    assert found.missed(begin, begin + timedelta(hours=2)) is None
    assert plain.missed(begin, last) == Missed(count=6, first=begin + timedelta(hours=1), last=last)


def test_an_excepted_time_that_is_no_instant_has_no_effect() -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    found = recurrence(cron="0 * * * *", exceptions=frozenset([begin + timedelta(minutes=30)]))
    assert found.by_hour(begin, begin + timedelta(hours=2)) == {begin: 1, begin + timedelta(hours=1): 1}
