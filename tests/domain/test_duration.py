"""Durations: parsing, formatting and error messages."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.domain.duration import LONGEST, check_duration, format_duration, parse_duration
from pgsched.errors import InvalidSchedule

_lengths = st.timedeltas(min_value=timedelta(microseconds=1), max_value=LONGEST)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("PT5S", timedelta(seconds=5)),
        ("P1D", timedelta(days=1)),
        ("PT1H30M", timedelta(hours=1, minutes=30)),
        ("P2W", timedelta(weeks=2)),
        ("P1DT12H", timedelta(days=1, hours=12)),
        ("PT0.25S", timedelta(milliseconds=250)),
        ("PT1,5S", timedelta(seconds=1, milliseconds=500)),
        ("PT0.000001S", timedelta(microseconds=1)),
        ("pt5s", timedelta(seconds=5)),
        (" PT36H ", timedelta(hours=36)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("90s", timedelta(seconds=90)),
        ("1.5s", timedelta(seconds=1, milliseconds=500)),
        ("250ms", timedelta(milliseconds=250)),
        ("1m250ms", timedelta(minutes=1, milliseconds=250)),
        ("2d", timedelta(days=2)),
        ("1w", timedelta(weeks=1)),
        ("P3653D", LONGEST),
    ],
)
def test_iso_8601_and_the_short_form_are_parsed(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("", "write an ISO 8601 duration such as PT1H30M"),
        ("P", "write an ISO 8601 duration"),
        ("PT", "write an ISO 8601 duration"),
        ("P1DT", "write an ISO 8601 duration"),
        ("soon", "write an ISO 8601 duration"),
        ("PT5", "write an ISO 8601 duration"),
        ("PT1S1H", "write an ISO 8601 duration"),
        ("30m1h", "write an ISO 8601 duration"),
        ("1h1h", "write an ISO 8601 duration"),
        ("1.5h", "write an ISO 8601 duration"),
        ("PT0.0000001S", "write an ISO 8601 duration"),
        ("10 seconds", "write an ISO 8601 duration"),
        ("٣s", "write an ISO 8601 duration"),
        ("x" * 5000, "write an ISO 8601 duration"),
        ("P1M", "write days (P30D), or use cron"),
        ("P1Y2D", "write days (P30D), or use cron"),
        ("1y", "write days (P30D), or use cron"),
        ("2 months", "write days (P30D), or use cron"),
        ("90", "write 90s for seconds or 90m for minutes"),
        ("1.5", "write 1.5s for seconds"),
        ("-PT5S", "longer than zero"),
        ("-5s", "longer than zero"),
        ("PT0S", "longer than zero"),
        ("0s", "longer than zero"),
        ("P3654D", "P3653D or less"),
        ("PT999999999999999999999H", "P3653D or less"),
    ],
)
def test_an_invalid_duration_is_refused_with_advice(text: str, advice: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_duration(text)
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(0), "PT0S"),
        (timedelta(seconds=90), "PT1M30S"),
        (timedelta(days=1), "P1D"),
        (timedelta(days=1, hours=2), "P1DT2H"),
        (timedelta(milliseconds=250), "PT0.25S"),
        (timedelta(hours=1, microseconds=1), "PT1H0.000001S"),
    ],
)
def test_durations_are_formatted_as_iso_8601(length: timedelta, text: str) -> None:
    assert format_duration(length) == text


@given(_lengths)
def test_a_formatted_duration_parses_to_the_same_duration(length: timedelta) -> None:
    assert parse_duration(format_duration(length)) == length


def test_formatting_a_negative_duration_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="negative"):
        format_duration(timedelta(seconds=-1))


@pytest.mark.parametrize("length", [timedelta(0), timedelta(seconds=-1), LONGEST + timedelta(microseconds=1)])
def test_an_out_of_range_duration_is_refused(length: timedelta) -> None:
    with pytest.raises(InvalidSchedule, match="write"):
        check_duration(length)
