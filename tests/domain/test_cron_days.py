"""The days of a year that an expression matches, compared with a check of each day."""

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from time import thread_time

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgsched.domain.cron_days import days_of_year
from pgsched.domain.cron_expression import read
from pgsched.errors import InvalidSchedule


def last_of(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def nearest(wanted: int, day: date) -> bool:
    """Returns True if ``day`` is the weekday nearest to the ``wanted`` day of the same month."""
    weekdays = [n for n in range(1, last_of(day) + 1) if day.replace(day=n).weekday() < 5]
    return wanted <= last_of(day) and day.day == min(weekdays, key=lambda n: abs(n - wanted))


def nth(weekday: int, number: int, day: date) -> bool:
    return day.weekday() == weekday and (day.day - 1) // 7 + 1 == number


_DATES: dict[str, Callable[[date], bool]] = {
    "*": lambda _: True,
    "?": lambda _: True,
    "13": lambda day: day.day == 13,
    "1,15": lambda day: day.day in (1, 15),
    "31": lambda day: day.day == 31,
    "*/5": lambda day: day.day % 5 == 1,
    "3-25/4": lambda day: day.day in range(3, 26, 4),
    "L": lambda day: day.day == last_of(day),
    "L-3": lambda day: day.day == last_of(day) - 3,
    "L-30": lambda day: day.day == last_of(day) - 30,
    "LW": lambda day: nearest(last_of(day), day),
    "1W": lambda day: nearest(1, day),
    "31W": lambda day: nearest(31, day),
    "15W,20": lambda day: nearest(15, day) or day.day == 20,
    "6,L": lambda day: day.day in (6, last_of(day)),
}
_WEEKDAYS: dict[str, Callable[[date], bool]] = {
    "*": lambda _: True,
    "?": lambda _: True,
    "0": lambda day: day.weekday() == 6,
    "7": lambda day: day.weekday() == 6,
    "MON-FRI": lambda day: day.weekday() < 5,
    "FRI-MON": lambda day: day.weekday() in (4, 5, 6, 0),
    "*/2": lambda day: day.weekday() in (6, 1, 3, 5),
    "SUN#1": lambda day: nth(6, 1, day),
    "5#5": lambda day: nth(4, 5, day),
    "L5": lambda day: day.weekday() == 4 and day.day + 7 > last_of(day),
    "MON,3#2": lambda day: day.weekday() == 0 or nth(2, 2, day),
}
_MONTHS = {
    "*": range(1, 13),
    "2": (2,),
    "FEB": (2,),
    "1-6": range(1, 7),
    "11-3": (11, 12, 1, 2, 3),
    "*/3": (1, 4, 7, 10),
    "2,4": (2, 4),
}


@settings(max_examples=150, deadline=None)
@given(*(st.sampled_from(list(forms)) for forms in (_DATES, _MONTHS, _WEEKDAYS)), st.integers(1971, 2400))
def test_computed_days_match_a_day_by_day_check(in_month: str, months: str, in_week: str, year: int) -> None:
    try:
        days = read(f"0 0 {in_month} {months} {in_week}").days
    except InvalidSchedule:
        assume(False)
    both = in_month[0] in "*?" or in_week[0] in "*?"
    expected = 0
    for n in range(365 + (last_of(date(year, 2, 1)) == 29)):
        day = date(year, 1, 1) + timedelta(days=n)
        meant = _DATES[in_month](day), _WEEKDAYS[in_week](day)
        if day.month in _MONTHS[months] and (all(meant) if both else any(meant)):
            expected |= 1 << n
    assert days_of_year(days, year) == expected


def test_finding_days_of_uncached_years_is_fast() -> None:
    began = thread_time()
    for day in range(1, 30):
        for year in range(3000, 3010):
            days_of_year(f"{day}-31/2 * 1-6", year)
    assert thread_time() - began < 0.3
