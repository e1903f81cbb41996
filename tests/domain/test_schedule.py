"""Schedules: instants compared with a minute-by-minute scan, schedule arguments, and previews."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsched.domain.cron import Cron, Gap, Overlap
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.schedule import (
    Every,
    Once,
    Schedule,
    from_parts,
    next_instant,
)
from pgsched.errors import InvalidSchedule

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass(frozen=True)
class _Field:
    """A field's text and its values, generated together so that the test does not parse cron."""

    text: str
    values: frozenset[int]


def _fields(low: int, high: int, often: tuple[int, ...]) -> st.SearchStrategy[_Field]:
    """Draws ``*``, ``*/n``, lists and ranges from ``low`` to ``high``, with values mostly from ``often``."""
    numbers = st.one_of(st.sampled_from(often), st.integers(low, high))
    every = st.just(_Field("*", frozenset(range(low, high + 1))))
    steps = st.integers(2, high - low).map(lambda n: _Field(f"*/{n}", frozenset(range(low, high + 1, n))))
    lists = st.sets(numbers, min_size=1, max_size=4).map(
        lambda chosen: _Field(",".join(map(str, chosen)), frozenset(chosen))
    )
    ends = st.tuples(numbers, numbers).filter(lambda pair: pair[0] < pair[1])
    ranges = ends.map(lambda pair: _Field(f"{pair[0]}-{pair[1]}", frozenset(range(pair[0], pair[1] + 1))))
    return st.one_of(lists, every, steps, ranges)


_CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("Africa/Casablanca", "2026-02-15T02:00"),
    ("Africa/Casablanca", "2026-03-22T02:00"),
    ("Africa/Cairo", "2026-04-23T22:00"),
    ("America/Havana", "2026-11-01T05:00"),
    ("Antarctica/Troll", "2026-10-25T01:00"),
    ("Asia/Kolkata", "2026-03-29T01:00"),
    ("UTC", "2026-12-31T23:59"),
]


@lru_cache
def _minutes(zone: str, change: str) -> list[tuple[datetime, datetime, bool]]:
    """Returns each minute from a day before the change to two days after: instant, local time, whether it repeats."""
    start = _at(change) - timedelta(days=1)
    local = [(start + n * MINUTE).astimezone(ZoneInfo(zone)) for n in range(3 * 24 * 60)]
    return [(at.astimezone(UTC), at, at.utcoffset() != at.replace(fold=1 - at.fold).utcoffset()) for at in local]


@dataclass(frozen=True)
class _Expression:
    minute: _Field
    hour: _Field
    day: _Field
    weekday: _Field

    @property
    def text(self) -> str:
        return f"{self.minute.text} {self.hour.text} {self.day.text} * {self.weekday.text}"

    @property
    def fixed(self) -> bool:
        return self.minute.text[0] != "*" and self.hour.text[0] != "*"

    def matches(self, wall: datetime) -> bool:
        if wall.minute not in self.minute.values or wall.hour not in self.hour.values:
            return False
        days = [wall.day in self.day.values, wall.isoweekday() % 7 in self.weekday.values]
        return all(days) if "*" in (self.day.text[0], self.weekday.text[0]) else any(days)


_expressions = st.builds(
    _Expression,
    minute=_fields(0, 59, (0, 15, 30, 45, 59)),
    hour=_fields(0, 23, (0, 1, 2, 3, 4, 23)),
    day=st.one_of(st.just(_Field("*", frozenset(range(1, 32)))), _fields(1, 31, (1, 25, 29))),
    weekday=st.one_of(st.just(_Field("*", frozenset(range(7)))), _fields(0, 6, (0, 1))),
)


def _scan(expression: _Expression, cron: Cron, change: str) -> list[datetime]:
    """Returns the expected instants by checking each minute around the change."""
    wanted = {Overlap.FIRST: {0}, Overlap.SECOND: {1}, Overlap.BOTH: {0, 1}}[cron.overlap]
    found: list[datetime] = []
    expected = None
    for instant, local, doubled in _minutes(cron.timezone, change):
        wall = local.replace(tzinfo=None, fold=0)
        skipped = expected if expected is not None and expected < wall else wall
        moved = False
        while skipped < wall and expression.fixed and cron.gap is Gap.SHIFT:
            moved = moved or expression.matches(skipped)
            skipped += MINUTE
        counts = not (expression.fixed and doubled) or local.fold in wanted
        if moved or (counts and expression.matches(wall)):
            found.append(instant)
        expected = wall + MINUTE
    return found


@settings(deadline=None, max_examples=250)
@given(
    expression=_expressions,
    where=st.sampled_from(_CHANGES),
    gap=st.sampled_from(Gap),
    overlap=st.sampled_from(Overlap),
    start=st.integers(1, 3 * 24 * 60 - 1),
)
def test_next_instants_match_a_scan_of_every_minute(
    expression: _Expression, where: tuple[str, str], gap: Gap, overlap: Overlap, start: int
) -> None:
    zone, change = where
    cron = Cron(expression=expression.text, timezone=zone, gap=gap, overlap=overlap)
    after = _minutes(zone, change)[start][0]
    scanned = [at for at in _scan(expression, cron, change) if at > after][:20]
    found = Recurrence(specs=(cron,)).instants(after, len(scanned) + 1)
    assert found[: len(scanned)] == scanned
    if len(scanned) < 20:
        assert found[-1] > _minutes(zone, change)[-1][0]


@settings(deadline=None, max_examples=100)
@given(
    expression=_expressions,
    zone=st.sampled_from(sorted({zone for zone, _ in _CHANGES})),
    overlap=st.sampled_from(Overlap),
    after=st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_each_instant_is_later_than_the_previous_instant(
    expression: _Expression, zone: str, overlap: Overlap, after: datetime
) -> None:
    found = [
        after,
        *Recurrence(specs=(Cron(expression=expression.text, timezone=zone, overlap=overlap),)).instants(after, 5),
    ]
    assert found == sorted(set(found))
    assert len(found) == 6


@given(
    interval=st.timedeltas(timedelta(seconds=1), timedelta(days=400)),
    anchor=st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    after=st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
)
def test_an_interval_stays_aligned_with_its_anchor(interval: timedelta, anchor: datetime, after: datetime) -> None:
    following = next_instant(Every(interval=interval, anchor=anchor), after)
    assert following is not None
    assert following > after
    assert (following - anchor) % interval == timedelta(0)
    assert following == anchor or anchor <= following - interval <= after


def test_an_interval_starts_at_a_future_anchor() -> None:
    every = Every(interval=HOUR, anchor=_at("2026-03-01T09:00"))
    assert Recurrence(specs=(every,)).instants(_at("2026-01-01T00:00"), 2) == [
        _at("2026-03-01T09:00"),
        _at("2026-03-01T10:00"),
    ]


def test_an_interval_stops_at_the_end_of_the_calendar() -> None:
    assert next_instant(Every(interval=HOUR, anchor=_at("2026-01-01T00:00")), datetime.max.replace(tzinfo=UTC)) is None


def test_a_one_time_schedule_fires_only_if_its_instant_is_ahead() -> None:
    once = Once(fire_at=_at("2026-03-01T09:00"))
    assert next_instant(once, _at("2026-03-01T08:59:59")) == _at("2026-03-01T09:00")
    assert Recurrence(specs=(once,)).instants(_at("2026-03-01T09:00"), 5) == []


def test_instants_are_in_utc_whatever_offset_is_given() -> None:
    asked = datetime(2026, 3, 1, 10, tzinfo=ZoneInfo("Asia/Kolkata"))
    for schedule in (Once(fire_at=asked + HOUR), Every(interval=HOUR, anchor=asked), Cron(expression="0 * * * *")):
        following = next_instant(schedule, asked)
        assert following is not None
        assert following.tzinfo is UTC


def test_fractions_of_a_second_are_not_ignored() -> None:
    noon = _at("2026-03-01T12:00")
    cron = Cron(expression="0 12 * * *")
    assert next_instant(cron, noon - timedelta(microseconds=1)) == noon
    assert next_instant(cron, noon + timedelta(microseconds=1)) == noon + timedelta(days=1)


@pytest.mark.parametrize(
    ("parts", "schedule"),
    [
        ({"fire_at": "2026-03-01T10:00:00+01:00"}, Once(fire_at=_at("2026-03-01T09:00"))),
        ({"cron": "@daily"}, Cron(expression="@daily", timezone="UTC", gap=Gap.SHIFT, overlap=Overlap.FIRST)),
        (
            {"every": HOUR, "anchor": _at("2026-03-01T09:00")},
            Every(interval=HOUR, anchor=_at("2026-03-01T09:00")),
        ),
    ],
)
def test_valid_arguments_give_the_expected_schedule(parts: dict[str, Any], schedule: Schedule) -> None:
    assert from_parts(**parts) == schedule


@pytest.mark.parametrize(
    ("parts", "advice"),
    [
        ({}, 'give one of "fire_at", "cron" and "every"'),
        ({"timezone": "UTC"}, 'give one of "fire_at", "cron" and "every"'),
        ({"cron": "@daily", "every": "1h"}, 'give either "cron" or "every", not both'),
        ({"fire_at": "2026-03-01T09:00:00Z", "cron": "@daily"}, 'give either "fire_at" or "cron", not both'),
        ({"fire_at": "2026-03-01T09:00:00Z", "cron": "@daily", "every": "1h"}, "not all of them"),
        (
            {"every": "1h", "timezone": "UTC", "anchor": "2026-03-01T09:00:00Z"},
            '"timezone" needs "cron"',
        ),
        ({"fire_at": "2026-03-01T09:00:00Z", "timezone": "UTC"}, '"timezone" needs "cron"'),
        ({"fire_at": "2026-03-01T09:00:00Z", "gap": "skip"}, '"gap" needs "cron"'),
        ({"every": "1h", "overlap": "both"}, '"overlap" needs "cron"'),
        ({"cron": "@daily", "anchor": "2026-03-01T09:00:00Z"}, '"anchor" needs "every"'),
        ({"cron": "@daily", "gap": "later"}, "write one of shift, skip"),
        ({"cron": "@daily", "overlap": "last"}, "write one of first, second, both"),
        ({"cron": "@daily", "timezone": ""}, "write an IANA name"),
        ({"every": "1h"}, 'give "anchor", such as'),
        ({"every": "500ms", "anchor": "2026-03-01T09:00:00Z"}, "write PT1S or more"),
        ({"every": "P1M", "anchor": "2026-03-01T09:00:00Z"}, "use cron"),
        ({"every": timedelta(days=4000), "anchor": "2026-03-01T09:00:00Z"}, "longer than ten years"),
        ({"every": "1h", "anchor": "noon"}, "\"anchor\" 'noon' is not an instant: write ISO 8601"),
        ({"fire_at": "tomorrow"}, "\"fire_at\" 'tomorrow' is not an instant: write ISO 8601"),
        ({"fire_at": "2026-03-01"}, '"fire_at" 2026-03-01T00:00:00 has no offset: write 2026-03-01T00:00:00Z for UTC'),
        ({"fire_at": datetime(2026, 3, 1)}, "has no offset"),
        ({"fire_at": "0001-01-01T00:00:00+14:00"}, "is out of range"),
    ],
)
def test_invalid_schedule_arguments_are_refused_with_advice(parts: dict[str, Any], advice: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        from_parts(**parts)
    assert advice in str(refusal.value)


def test_a_datetime_without_an_offset_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match='"after" 2026-03-01T00:00:00 has no offset'):
        next_instant(Cron(expression="@daily"), datetime(2026, 3, 1))


def test_an_interval_preview_is_in_utc_without_notes() -> None:
    every = Every(interval=HOUR, anchor=_at("2026-03-29T00:00"))
    [fire] = Recurrence(specs=(every,)).fires(_at("2026-03-29T00:00"), 1)
    assert (fire.local, fire.note) == ("2026-03-29T01:00:00+00:00", None)
