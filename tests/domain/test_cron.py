"""Cron: exact instants, including across DST changes, and the error messages."""

from datetime import UTC, datetime

import pytest

from pgsched.domain.cron import Cron, Gap, Overlap, next_occurrence
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.schedule import next_instant
from pgsched.errors import InvalidSchedule

FIRST_INSTANTS = [
    ("@hourly", "2026-01-01T01:00:00"),
    ("@daily", "2026-01-02T00:00:00"),
    ("@midnight", "2026-01-02T00:00:00"),
    ("@weekly", "2026-01-04T00:00:00"),
    ("@monthly", "2026-02-01T00:00:00"),
    ("@yearly", "2027-01-01T00:00:00"),
    ("@Annually", "2027-01-01T00:00:00"),
    ("30 15 2 * * *", "2026-01-01T02:15:30"),
    ("*/20 * * * * *", "2026-01-01T00:00:20"),
    ("0 0 L * *", "2026-01-31T00:00:00"),
    ("0 0 * * L5", "2026-01-30T00:00:00"),
    ("0 0 * * 5#2", "2026-01-09T00:00:00"),
    ("0 0 * * mon#1", "2026-01-05T00:00:00"),
    ("0 0 17W * *", "2026-01-16T00:00:00"),
    ("0 0 ? FEB ?", "2026-02-01T00:00:00"),
    ("0 0 * NOV-FEB *", "2026-01-02T00:00:00"),
    ("0 0 * * 7", "2026-01-04T00:00:00"),
    ("0 0 13 * FRI", "2026-01-02T00:00:00"),
    ("0 0 31 2 FRI", "2026-02-06T00:00:00"),
    ("0 0 */2 * MON", "2026-01-05T00:00:00"),
    ("0 0 13 * */5", "2026-02-13T00:00:00"),
    ("0 0 L * MON", "2026-01-05T00:00:00"),
    ("0 0 1-31 * 1", "2026-01-02T00:00:00"),
    ("0 0 */15,7 * *", "2026-01-07T00:00:00"),
    ("0 22-2 * * *", "2026-01-01T01:00:00"),
    ("0 0 29 2 *", "2028-02-29T00:00:00"),
    ("0 0 * 2 1#5", "2044-02-29T00:00:00"),
    ("  0   12\t* * *  ", "2026-01-01T12:00:00"),
    ("0 0 13 * WED", "2026-01-07T00:00:00"),
    ("0 0 25,26 * MON,WED", "2026-01-05T00:00:00"),
    ("0 0 13 * WED-THU", "2026-01-07T00:00:00"),
    ("0 0 30W * *", "2026-01-30T00:00:00"),
    ("0 0 31W FEB-MAY *", "2026-03-31T00:00:00"),
    ("0 0 29W 2 *", "2028-02-29T00:00:00"),
    ("0 0 1W AUG *", "2026-08-03T00:00:00"),
    ("0 0 31W MAY *", "2026-05-29T00:00:00"),
    ("0 0 5W,20W * *", "2026-01-05T00:00:00"),
    ("0 0 LW * *", "2026-01-30T00:00:00"),
    ("0 0 LW FEB *", "2026-02-27T00:00:00"),
    ("0 0 L-3 * *", "2026-01-28T00:00:00"),
    ("0 0 L-30 * *", "2026-03-01T00:00:00"),
    ("0 0 28-L * *", "2026-01-28T00:00:00"),
    ("0 0 * * 3,2#1", "2026-01-06T00:00:00"),
    ("0 0 * * SUN#1", "2026-01-04T00:00:00"),
    ("0 0 * * 7#2", "2026-01-11T00:00:00"),
    ("0 0 * * L0", "2026-01-25T00:00:00"),
    ("0 0 * * 5-7", "2026-01-02T00:00:00"),
    ("0 0 * * FRI-SUN", "2026-01-02T00:00:00"),
    ("0 0 * * 0-7", "2026-01-02T00:00:00"),
    ("0 0 * * 7-1", "2026-01-04T00:00:00"),
    ("0 0 1 FEB/3 *", "2026-02-01T00:00:00"),
    ("0 0 1 JAN/3 *", "2026-04-01T00:00:00"),
    ("0/15 10 * * *", "2026-01-01T10:00:00"),
    ("*/59 * * * *", "2026-01-01T00:59:00"),
    ("0 0 1/1 * *", "2026-01-02T00:00:00"),
    ("0 15 10 ? * MON-FRI", "2026-01-01T10:15:00"),
    ("0 15 10 ? * FRI#2", "2026-01-09T10:15:00"),
    ("0 15 10 15 * ?", "2026-01-15T10:15:00"),
    ("0 15 10 ? * *", "2026-01-01T10:15:00"),
    ("0 0/5 14,18 * * ?", "2026-01-01T14:00:00"),
]
"""Expressions, each with its first instant in 2026, in UTC."""


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _cron(expression: str, timezone: str = "UTC", policy: str = "") -> Cron:
    """Returns a Cron with the policies named in ``policy``, such as "skip second"."""
    named = policy.split()
    gap = next((gap for gap in Gap if gap in named), Gap.SHIFT)
    overlap = next((overlap for overlap in Overlap if overlap in named), Overlap.FIRST)
    return Cron(expression=expression, timezone=timezone, gap=gap, overlap=overlap)


def _shown(found: list[datetime]) -> str:
    """Formats instants as day and time in UTC, omitting the day if the previous instant has the same day."""
    days = [None, *(at.date() for at in found)]
    return " ".join(
        f"{at:%H:%M}" if at.date() == day else f"{at:%d/%H:%M}" for at, day in zip(found, days, strict=False)
    )


@pytest.mark.parametrize(
    ("expression", "zone", "policy", "after", "expected"),
    [
        # Berlin, 29 March 2026: 02:00 becomes 03:00 at 01:00 UTC.
        ("30 2 * * *", "Europe/Berlin", "shift", "2026-03-28T00:00", "28/01:30 29/01:00 30/00:30"),
        ("30 2 * * *", "Europe/Berlin", "skip", "2026-03-28T00:00", "28/01:30 30/00:30 31/00:30"),
        ("0,30 2 * * *", "Europe/Berlin", "shift", "2026-03-29T00:00", "29/01:00 30/00:00 00:30"),
        ("0 2,3 * * *", "Europe/Berlin", "shift", "2026-03-29T00:00", "29/01:00 30/00:00 01:00"),
        ("0 2,3 * * *", "Europe/Berlin", "skip", "2026-03-29T00:00", "29/01:00 30/00:00 01:00"),
        ("0 0-23 * * *", "Europe/Berlin", "shift", "2026-03-28T23:30", "29/00:00 01:00 02:00"),
        ("0 * * * *", "Europe/Berlin", "shift", "2026-03-28T23:30", "29/00:00 01:00 02:00"),
        ("*/30 * * * *", "Europe/Berlin", "shift", "2026-03-29T00:00", "29/00:30 01:00 01:30 02:00"),
        ("*/20 2 * * *", "Europe/Berlin", "shift", "2026-03-29T00:00", "30/00:00 00:20 00:40"),
        # Berlin, 25 October 2026: 03:00 becomes 02:00 at 01:00 UTC.
        ("30 2 * * *", "Europe/Berlin", "first", "2026-10-24T12:00", "25/00:30 26/01:30"),
        ("30 2 * * *", "Europe/Berlin", "second", "2026-10-24T12:00", "25/01:30 26/01:30"),
        ("30 2 * * *", "Europe/Berlin", "both", "2026-10-24T12:00", "25/00:30 01:30 26/01:30"),
        ("30 2 * * *", "Europe/Berlin", "first", "2026-10-25T00:30", "26/01:30"),
        ("30 2 * * *", "Europe/Berlin", "first", "2026-10-25T01:00", "26/01:30"),
        ("30 2 * * *", "Europe/Berlin", "second", "2026-10-25T00:15", "25/01:30 26/01:30"),
        ("0 1,2,3 * * *", "Europe/Berlin", "first", "2026-10-24T22:00", "24/23:00 25/00:00 02:00"),
        ("0 1,2,3 * * *", "Europe/Berlin", "second", "2026-10-24T22:00", "24/23:00 25/01:00 02:00"),
        ("0,30 2 * * *", "Europe/Berlin", "both", "2026-10-24T22:00", "25/00:00 00:30 01:00 01:30"),
        ("0 * * * *", "Europe/Berlin", "first", "2026-10-24T23:30", "25/00:00 01:00 02:00"),
        ("*/30 * * * *", "Europe/Berlin", "first", "2026-10-25T00:00", "25/00:30 01:00 01:30 02:00"),
        ("15 */2 * * *", "Europe/Berlin", "first", "2026-10-24T23:30", "25/00:15 01:15 03:15"),
        # New York, 8 March and 1 November 2026.
        ("30 2 * * *", "America/New_York", "shift", "2026-03-07T00:00", "07/07:30 08/07:00 09/06:30"),
        ("30 2 * * *", "America/New_York", "skip", "2026-03-07T00:00", "07/07:30 09/06:30"),
        ("30 1 * * *", "America/New_York", "first", "2026-10-31T12:00", "01/05:30 02/06:30"),
        ("30 1 * * *", "America/New_York", "second", "2026-10-31T12:00", "01/06:30 02/06:30"),
        # A cron that goes by elapsed time does not fire at a shifted 03:00.
        ("0 */2 * * *", "America/New_York", "shift", "2026-03-08T05:30", "08/08:00 10:00"),
        # Lord Howe moves by half an hour: 5 April 2026 (02:00 to 01:30) and 4 October (02:00 to 02:30).
        ("45 1 * * *", "Australia/Lord_Howe", "first", "2026-04-04T00:00", "04/14:45 05/15:15"),
        ("45 1 * * *", "Australia/Lord_Howe", "second", "2026-04-04T00:00", "04/15:15 05/15:15"),
        ("15 2 * * *", "Australia/Lord_Howe", "shift", "2026-10-02T20:00", "03/15:30 04/15:15"),
        ("15 2 * * *", "Australia/Lord_Howe", "skip", "2026-10-02T20:00", "04/15:15 05/15:15"),
        ("*/15 * * * *", "Australia/Lord_Howe", "shift", "2026-10-03T15:00", "03/15:15 15:30 15:45"),
        # Apia skipped the whole of 30 December 2011: midnight after the 29th, 10:00 UTC of the 30th, began the 31st.
        ("0 12 * * *", "Pacific/Apia", "shift", "2011-12-29T00:00", "29/22:00 30/10:00 22:00 31/22:00"),
        ("0 12 * * *", "Pacific/Apia", "skip", "2011-12-29T00:00", "29/22:00 30/22:00 31/22:00"),
        ("0 0 * * *", "Pacific/Apia", "shift", "2011-12-29T00:00", "29/10:00 30/10:00 31/10:00"),
        ("0 9 30 12 *", "Pacific/Apia", "shift", "2011-12-01T00:00", "30/10:00 29/19:00"),
        ("0 9 30 12 *", "Pacific/Apia", "skip", "2011-12-01T00:00", "29/19:00"),
        # Casablanca moves back for Ramadan (15 February 2026, 03:00 to 02:00) and forward again (22 March).
        ("30 2 * * *", "Africa/Casablanca", "first", "2026-02-14T12:00", "15/01:30 16/02:30"),
        ("30 2 * * *", "Africa/Casablanca", "both", "2026-02-14T12:00", "15/01:30 02:30 16/02:30"),
        ("30 2 * * *", "Africa/Casablanca", "shift", "2026-03-21T12:00", "22/02:00 23/01:30"),
        # Cairo's gap is at midnight (24 April 2026).
        ("0 0 * * *", "Africa/Cairo", "shift", "2026-04-23T00:00", "23/22:00 24/21:00"),
        ("@daily", "Africa/Cairo", "skip", "2026-04-23T00:00", "24/21:00 25/21:00"),
        # Zones without DST.
        ("0 9 * * MON-FRI", "Asia/Kolkata", "", "2026-03-27T00:00", "27/03:30 30/03:30"),
        ("30 2 * * *", "UTC", "", "2026-03-29T00:00", "29/02:30 30/02:30"),
    ],
)
def test_instants_across_dst_changes_follow_the_policies(
    expression: str, zone: str, policy: str, after: str, expected: str
) -> None:
    count = len(expected.split())
    assert _shown(Recurrence(specs=(_cron(expression, zone, policy),)).instants(_at(after), count)) == expected


@pytest.mark.parametrize(("expression", "expected"), FIRST_INSTANTS)
def test_each_expression_has_the_expected_first_instant_of_2026(expression: str, expected: str) -> None:
    assert next_instant(_cron(expression), _at("2026-01-01T00:00:00")) == _at(expected)


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("", "write five"),
        ("* * * *", "has 4 fields: write five"),
        ("0 0 0 1 1 * 2026", "has 7 fields"),
        ("* " * 200 + "*", "has 201 fields"),
        (",".join(["0"] * 300) + " * * * *", "in at most 256 characters"),
        ("60 * * * *", "minute '60' is not valid: write 0-59"),
        ("-1 * * * *", "minute '-1' is not valid"),
        ("* 24 * * *", "hour '24' is not valid: write 0-23"),
        ("* * 0 * *", "day-of-month '0' is not valid: write 1-31"),
        ("* * 32 * *", "day-of-month '32'"),
        ("* * * 13 *", "month '13' is not valid: write 1-12, JAN-DEC"),
        ("* * * 0 *", "month '0'"),
        ("* * * * 8", "day-of-week '8'"),
        ("60 * * * * *", "second '60' is not valid: write 0-59"),
        ("0 0 * * FOO", "day-of-week 'FOO'"),
        ("0 0 * SMARCH *", "month 'SMARCH'"),
        ("a b c d e", "minute 'A' is not valid"),
        ("1,,2 * * * *", "minute '1,,2'"),
        ("*/0 * * * *", "minute '*/0'"),
        ("*/x * * * *", "minute '*/X'"),
        ("1-2-3 * * * *", "minute '1-2-3'"),
        ("? * * * *", "minute '?'"),
        ("5-5 * * * *", "write the single value"),
        ("0 0 * * MON-1", "write the single value"),
        ("0 0 * * 7-0", "write the single value"),
        ("0 0 * * 6-1/2", "write the values as a list"),
        ("0 22-4/2 * * *", "write the values as a list"),
        ("H * * * *", "has H, whose value depends on the job"),
        ("h/15 * * * *", "has H, whose value depends on the job"),
        ("0 R * * *", "has R, which is not supported: write H"),
        ("0 0 R(1-5) * *", "has R, which is not supported: write H"),
        ("0,H * * * *", "has H, whose value depends on the job"),
        ("@reboot", "write one of @hourly"),
        ("@every 5m", "write one of @hourly"),
        ("@", "write one of @hourly"),
        ("TZ=Europe/Berlin 0 0 * * *", 'as "timezone"'),
        ("CRON_TZ=UTC 0 0 * * *", 'as "timezone"'),
        ("0 0 * * 1#6", "5#2 for the second Friday"),
        ("0 0 * * 5L", "L5 for the last"),
        ("0 0 13 * 5#1", "the other must be *"),
        ("0 0 13 * L5", "the other must be *"),
        ("0 0 15W * 1", "the other must be *"),
        ("0 0 1,*/2 * 0-6", "the other must be *"),
        ("0 0 1,,15W * *", "day-of-month '1,,15W'"),
        ("0 0 W15 * *", "day-of-month 'W15' is not valid"),
        ("0 0 32W * *", "day-of-month '32W' is not valid"),
        ("0 0 0W * *", "day-of-month '0W' is not valid"),
        ("0 0 L-31 * *", "day-of-month 'L-31' is not valid"),
        ("0 0 L/2 * *", "day-of-month 'L/2' is not valid"),
        ("0 0 LW-1 * *", "day-of-month 'LW-1' is not valid"),
        ("0 0 15W,1 * MON", "the other must be *"),
        ("0 0 LW * WED", "the other must be *"),
        ("0 0 31W 2 *", "never occurs"),
        ("0 0 * * L", "day-of-week 'L' is not valid"),
        ("0 0 * * FRIL", "L5 for the last"),
        ("0 0 * * 1L", "L5 for the last"),
        ("0 0 * * 8#1", "day-of-week '8#1' is not valid"),
        ("0 0 * * MON-FRI#1", "day-of-week 'MON-FRI#1' is not valid"),
        ("0 0 * * MONDAY", "day-of-week 'MONDAY' is not valid"),
        ("0 0 * * 1.5", "day-of-week '1.5' is not valid"),
        ("0 0 * JAN MAR", "day-of-week 'MAR' is not valid"),
        ("0 0 * MON *", "month 'MON' is not valid"),
        ("0 0 * * MON/2", "write the days as a list, such as MON,WED,FRI"),
        ("0 0 * * 1/2", "write the days as a list"),
        ("0 0 * * 0/1", "write the days as a list"),
        ("30 * * * * MON/2", "write the days as a list"),
        (
            "*/60 * * * *",
            'step larger than its range: write the single value 0, or, for a fixed interval, give "every"',
        ),
        ("*/90 * * * *", "step larger than its range"),
        ("0/60 * * * *", "step larger than its range"),
        ("50/10 * * * *", "write the single value 50"),
        ("10-20/15 * * * *", "write the single value 10"),
        ("*/100 0 0 * * *", "second '*/100' has a step larger than its range"),
        ("0 */24 * * *", "hour '*/24' has a step larger than its range"),
        ("0 0 */31 * *", "day-of-month '*/31' has a step larger than its range"),
        ("0 0 1 */12 *", "month '*/12' has a step larger than its range"),
        ("0 0 1 DEC/3 *", "month 'DEC/3' has a step larger than its range"),
        ("0 0 * * */7", "day-of-week '*/7' has a step larger than its range"),
        ("0 0 * * MON-WED/4", "day-of-week 'MON-WED/4' has a step larger than its range"),
        ("*/10000 * * * *", "step larger than its range"),
        ("1~5 * * * *", "minute '1~5' would be drawn again each time: write H(0-30)"),
        ("~ * * * *", "would be drawn again each time"),
        ("0 0 ?,5 * *", "has ?, which is only for the two day fields and must stand alone"),
        ("0 0 ?/2 * *", "has ?, which is only for the two day fields"),
        ("0 0 1 ? *", "month '?' has ?, which is only for the two day fields"),
        ("0 ? * * *", "hour '?' has ?, which is only for the two day fields"),
        ("? 0 0 * * *", "second '?' has ?, which is only for the two day fields"),
        ("0 0 12 * ? MON-FRI", "has ? where six fields have hour or month"),
        ("\N{ARABIC-INDIC DIGIT FIVE} * * * *", "minute '\N{ARABIC-INDIC DIGIT FIVE}' is not valid"),
        ("0 0 * * \N{LATIN SMALL LETTER LONG S}un", "day-of-week '\N{LATIN SMALL LETTER LONG S}un' is not valid"),
        ("005 * * * *", "minute '005' is not valid"),
        ("0 0 * * * 2026", "day-of-week '2026' is not valid"),
        ("0 15 10 * * ? 2026", "for years, use starts_at and ends_at"),
        ("0 0 31 2 *", "never occurs"),
        ("0 0 30,31 2 *", "never occurs"),
        ("0 0 31 4,6,9,11 *", "never occurs"),
    ],
)
def test_an_invalid_expression_is_refused_with_advice(expression: str, advice: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        _cron(expression)
    assert advice in str(refusal.value)


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("0 10 * * ? *", "0 10 * * *"),
        ("15 12 * * ? *", "15 12 * * *"),
        ("0 18 ? * MON-FRI *", "0 18 * * MON-FRI"),
        ("0 8 1 * ? *", "0 8 1 * *"),
        ("0/10 * ? * MON-FRI *", "0/10 * * * MON-FRI"),
        ("0/5 8-17 ? * 2-6 *", "0/5 8-17 * * MON-FRI"),
        ("0 9 ? * 2#1 *", "0 9 * * MON#1"),
        ("0 9 ? * 6L *", "0 9 * * L5"),
        ("0 10 ? * 6L 2022-2023", "0 10 * * L5"),
        ("0 10 LW * ? 2026", "0 10 LW * *"),
        ("30 6 ? JAN-MAR 1,7 2026/2", "30 6 * JAN-MAR SUN,SAT"),
        ("0 9 ? * L *", "0 9 * * SAT"),
        ("0 9 ? * FRIL *", "0 9 * * L5"),
        ("0 9 ? * 1/2 *", "0 9 * * SUN,TUE,THU,SAT"),
        ("0 9 ? * MON/2,L *", "0 9 * * MON,WED,FRI,SAT"),
    ],
)
def test_the_refusal_of_an_eventbridge_cron_suggests_five_fields(expression: str, written: str) -> None:
    with pytest.raises(InvalidSchedule, match="if the last field is EventBridge's year") as refusal:
        _cron(expression)
    assert f"write five fields without it, '{written}'" in str(refusal.value)
    assert next_instant(_cron(written), _at("2026-01-01T00:00:00")) is not None


@pytest.mark.parametrize("expression", ["*/5 * * * * root", "0 0 * * HOL", "RAND * * * *", "0 0 * HER *"])
def test_an_unknown_word_is_refused(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="is not valid"):
        _cron(expression)


@pytest.mark.parametrize(
    "expression", ["0 30 2 ? * 2-6", "0 30 2 ? * 6#3", "0 0 ? * 1", "0 0 0 ? * 1,WED", "0 0 0 ? * 1/2"]
)
def test_numbered_weekdays_beside_a_question_mark_are_refused(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="write names, such as MON-FRI"):
        _cron(expression)


@pytest.mark.parametrize(
    "expression", ["cron(0 10 * * ? *)", "rate(5 minutes)", "CRON(0 10 * * *)", "at(2026-01-01T00:00:00)"]
)
def test_a_wrapped_expression_is_refused_with_advice_to_unwrap_it(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="write only what is in its parentheses"):
        _cron(expression)


@pytest.mark.parametrize(
    ("zone", "advice"),
    [
        ("", "such as Europe/Berlin or UTC"),
        ("Europe", "write an IANA name"),
        ("europe/berlin", "such as Europe/Berlin"),
        ("Europe/Berlim", "such as Europe/Berlin"),
        ("Mars/Phobos", "write an IANA name"),
        ("UTC+3", "write an IANA name"),
        ("+02:00", "write an IANA name"),
        ("../../etc/passwd", "write an IANA name"),
        ("/etc/localtime", "write an IANA name"),
        ("localtime", "write an IANA name"),
        ("Factory", "write an IANA name"),
        ("right/UTC", "write an IANA name"),
        ("a\0b", "write an IANA name"),
        ("Z" * 5000, "write an IANA name"),
    ],
)
def test_an_unknown_zone_is_refused_with_advice(zone: str, advice: str) -> None:
    with pytest.raises(InvalidSchedule, match="there is no time zone") as refusal:
        _cron("0 0 * * *", zone)
    assert advice in str(refusal.value)
    assert not str(refusal.value).endswith(f"such as {zone}")


def test_a_time_that_always_falls_in_a_skipped_gap_is_refused() -> None:
    assert _cron("30 2 * 3 L7", "Europe/Berlin", "shift")
    with pytest.raises(InvalidSchedule, match="never occurs in Europe/Berlin with gap=skip"):
        _cron("30 2 * 3 L7", "Europe/Berlin", "skip")


def test_extra_whitespace_is_ignored() -> None:
    assert _cron(" 0  12 * * * ") == _cron("0 12 * * *")


def test_the_next_instant_at_the_end_of_the_calendar_is_none() -> None:
    assert next_instant(_cron("0 0 * * *"), datetime.max.replace(tzinfo=UTC)) is None


def test_instants_before_1970_are_skipped() -> None:
    assert next_instant(_cron("0 0 * * *"), datetime.min.replace(tzinfo=UTC)) == _at("1970-01-02T00:00")


@pytest.mark.parametrize(
    ("expression", "zone", "policy", "after", "local", "note"),
    [
        ("30 2 * * *", "Europe/Berlin", "", "2026-03-27T12:00", "2026-03-28T02:30:00+01:00", None),
        (
            *("30 2 * * *", "Europe/Berlin", "shift", "2026-03-28T12:00", "2026-03-29T03:00:00+02:00"),
            "shifted from 02:30: the clocks go forward",
        ),
        (
            *("0 2,3 * * *", "Europe/Berlin", "shift", "2026-03-28T12:00", "2026-03-29T03:00:00+02:00"),
            "also stands in for 02:00: the clocks go forward",
        ),
        (
            *("15 30 2 * * *", "Europe/Berlin", "first", "2026-10-24T12:00", "2026-10-25T02:30:15+02:00"),
            "first of two 02:30:15: the clocks go back",
        ),
        (
            *("30 2 * * *", "Europe/Berlin", "second", "2026-10-24T12:00", "2026-10-25T02:30:00+01:00"),
            "second of two 02:30: the clocks go back",
        ),
        (
            *("0 12 * * *", "Pacific/Apia", "shift", "2011-12-29T23:00", "2011-12-31T00:00:00+14:00"),
            "shifted from 2011-12-30 12:00: the clocks go forward",
        ),
        ("0 * * * *", "Europe/Berlin", "", "2026-03-29T00:30", "2026-03-29T03:00:00+02:00", None),
    ],
)
def test_a_preview_explains_dst_shifts(
    expression: str, zone: str, policy: str, after: str, local: str, note: str | None
) -> None:
    [fire] = Recurrence(specs=(_cron(expression, zone, policy),), timezone=zone).fires(_at(after), 1)
    assert (fire.local, fire.note) == (local, note)
    assert fire.fire_at == datetime.fromisoformat(local)


def test_a_schedules_next_instant_is_computed_only_once() -> None:
    cron, after = _cron("7 3 * * 2", "Asia/Tokyo"), _at("2031-07-04T11:22:33")
    searches = next_occurrence.cache_info().misses
    assert len({next_instant(cron, after) for _ in range(100_000)}) == 1
    assert next_occurrence.cache_info().misses == searches + 1
