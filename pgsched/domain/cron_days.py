"""The day fields of a cron expression: the days of a year that they name, and how croniter needs them written."""

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache

from pgsched.domain.cron_fields import DAY_OF_MONTH, DAY_OF_WEEK, MONTH, listed, number_of, values_in, values_of

_COUNTED = re.compile(r"L(?:-(?P<before>[1-9]|[12]\d|30))?|(?:L|(?P<near>\d{1,2}))(?P<weekday>W)", re.ASCII)
_IN_WEEK = re.compile(r"(?P<day>\d|[A-Z]{3})#(?P<nth>[1-5])|L(?P<last>\d)", re.ASCII)
_FRIDAY = 4
_SHAPES = [(first, length) for first in range(7) for length in range(28, 32)]
"""Every possible month, given by the weekday of its first day (Monday is 0) and its number of days."""


def days_of_month(field: str) -> str:
    """Returns the field as a list for croniter. croniter does not support items such as W and L-3, so the list contains
    every day that they name in any possible month."""
    found, last = 0, ""
    for item in field.split(","):
        if item == "L":
            last = "L"
        elif counted := _COUNTED.fullmatch(item):
            found |= sum(1 << day for day in {_day_counted(counted, *shape) for shape in _SHAPES})
        else:
            found |= values_of(DAY_OF_MONTH, item)
    return ",".join([*listed(found & -2), *last])


def days_of_week(field: str) -> str:
    """Returns the field as a list for croniter. croniter cannot combine plain weekdays with L5 or 5#2. Beside such an
    item, a plain weekday is written as its first to fifth occurrences in the month."""
    weekdays, counted = 0, []
    for item in field.split(","):
        if found := _IN_WEEK.fullmatch(item):
            day = number_of(DAY_OF_WEEK, found["day"] or found["last"], item)
            counted.append(f"L{day}" if found["last"] else f"{day}#{found['nth']}")
        else:
            weekdays |= values_of(DAY_OF_WEEK, item)
    whole = listed(weekdays)
    return ",".join([*counted, *(f"{day}#{nth}" for day in whole for nth in range(1, 6))] if counted else whole)


def names(days: str, day: date) -> bool:
    """Whether the three day fields in ``days`` (day of month, month, day of week) include ``day``."""
    return bool(days_of_year(days, day.year) >> day.toordinal() - date(day.year, 1, 1).toordinal() & 1)


@lru_cache(maxsize=65536)
def days_of_year(days: str, year: int) -> int:
    """Returns a bit for each day of the year that the three day fields in ``days`` match; bit 0 is 1 January."""
    in_month, months, in_week = days.split()
    both = in_month.startswith("*") or in_week.startswith("*")
    named = values_in(MONTH, months)
    found = passed = 0
    for month in range(1, 13):
        first, length = monthrange(year, month)
        if named >> month & 1:
            by_date, by_weekday = _by_date(in_month, first, length), _by_weekday(in_week, first, length)
            found |= (by_date & by_weekday if both else by_date | by_weekday) << passed
        passed += length
    return found


@lru_cache(maxsize=4096)
def _by_date(field: str, first: int, length: int) -> int:
    """Returns a bit for each day that the field names in a month that begins on weekday ``first`` (Monday is 0). Bit 0
    is the first day.
    """
    found = 0
    for item in field.split(","):
        if counted := _COUNTED.fullmatch(item):
            found |= 1 << _day_counted(counted, first, length)
        else:
            found |= values_of(DAY_OF_MONTH, item)
    return found >> 1 & (1 << length) - 1


@lru_cache(maxsize=4096)
def _by_weekday(field: str, first: int, length: int) -> int:
    found = 0
    for item in field.split(","):
        if counted := _IN_WEEK.fullmatch(item):
            weekday = number_of(DAY_OF_WEEK, counted["day"] or counted["last"], item)
            which = slice(-1, None) if counted["last"] else slice(int(counted["nth"]) - 1, int(counted["nth"]))
            found |= sum(1 << day for day in _days_with(weekday, first, length)[which])
        else:
            named = values_of(DAY_OF_WEEK, item)
            found |= sum(1 << day for day in range(length) if named >> (first + day + 1) % 7 & 1)
    return found


def _days_with(weekday: int, first: int, length: int) -> range:
    """Returns the days of the month that fall on ``weekday`` (Sunday is 0), counted from 0."""
    return range((weekday - 1 - first) % 7, length, 7)


def _day_counted(found: re.Match[str], first: int, length: int) -> int:
    """Returns the day that L, L-3, LW or 15W names in a month that begins on weekday ``first``, or 0 if there is no
    such day.
    """
    near = found["near"]
    day = number_of(DAY_OF_MONTH, near, found[0]) if near else max(length - int(found["before"] or 0), 0)
    beyond = (first + day - 1) % 7 - _FRIDAY
    if day > length:
        return 0
    if not found["weekday"] or beyond <= 0:
        return day
    if beyond == 1:  # Saturday
        return day - 1 if day > 1 else day + 2
    return day + 1 if day < length else day - 2
