"""The days of a year that an expression names: found at once, and the same that croniter finds one by one."""

from datetime import datetime, timedelta
from time import thread_time

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgsched.domain.days import days_of_year
from pgsched.domain.expression import Matches, read
from pgsched.errors import InvalidSchedule

_DATES = ["*", "?", "13", "1,15", "31", "*/5", "3-25/4", "L", "L-3", "L-30", "LW", "1W", "31W", "15W,20", "6,L"]
_MONTHS = ["*", "2", "FEB", "1-6", "11-3", "*/3", "2,4"]
_WEEKDAYS = ["*", "?", "0", "7", "MON-FRI", "FRI-MON", "*/2", "SUN#1", "5#5", "L5", "MON,3#2"]
_ONE_DAY = timedelta(days=1)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_DATES), st.sampled_from(_MONTHS), st.sampled_from(_WEEKDAYS), st.integers(1971, 2400))
def test_the_days_are_those_that_croniter_finds(in_month: str, months: str, in_week: str, year: int) -> None:
    expression = f"0 0 {in_month} {months} {in_week}"
    try:
        days, matches = read(expression).days, Matches(expression)
    except InvalidSchedule:
        assume(False)
    first, expected = datetime(year, 1, 1), 0
    day = matches.first_from(first)
    while day.year == year:
        expected |= 1 << (day - first).days
        day = matches.first_from(day + _ONE_DAY)
    assert days_of_year(days, year) == expected


def test_days_that_nobody_has_asked_for_take_no_time_to_find() -> None:
    began = thread_time()
    for day in range(1, 30):
        for year in range(3000, 3010):
            days_of_year(f"{day}-31/2 * 1-6", year)
    assert thread_time() - began < 0.3
