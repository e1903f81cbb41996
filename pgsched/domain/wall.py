"""Cron expressions as bit sets of wall-clock time: the seconds of a day, the days of a year.

A day of seconds is an int of 86,400 bits. Union, difference and counting are then one operation a day each, which is
what makes a year of a job that fires each second countable in milliseconds.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from croniter import croniter

from pgsched.domain.expression import FIRST_WALL_TIME, Matches, fields_of

DAY = 86_400
ALL_DAY = (1 << DAY) - 1

_EPOCH = date(1970, 1, 1).toordinal()
_LEAP_YEAR = 2024
_ONE_DAY = timedelta(days=1)


def year_of(day: int) -> int:
    """The year of a day that is numbered from 1 January 1970."""
    return date.fromordinal(_EPOCH + day).year


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Times on the wall clock that match an expression: the seconds of a day, on the days that three fields name.

    Days are numbered from 1 January 1970.
    """

    days: str
    in_day: int

    def seconds(self, day: int) -> int:
        """A bit for each second of the day that matches."""
        year = year_of(day)
        bit = day + _EPOCH - date(year, 1, 1).toordinal()
        return self.in_day if days_of_year(self.days, year) >> bit & 1 else 0


@lru_cache(maxsize=2048)
def wall(expression: str, *, whole_minutes: bool = False) -> Wall:
    """The times that match the expression; of five fields the minute's first second, or all of them."""
    fields = fields_of(expression)
    return Wall(days=" ".join(fields[-3:]), in_day=_seconds_of_day(fields, whole_minutes))


def names_a_day(expression: str) -> bool:
    """False where no year has a day that the expression names, such as 30 February. To look for one takes long."""
    in_month, month, weekday = fields_of(expression)[-3:]
    either = not in_month.startswith("*") and not weekday.startswith("*")
    if either or any(sign in in_month + weekday for sign in ("L", "W", "#")):
        return True  # every month has each day of the week
    return days_of_year(f"{in_month} {month} *", _LEAP_YEAR) > 0


def _seconds_of_day(fields: list[str], whole_minutes: bool) -> int:
    expanded = _expanded(fields)
    minutes, hours = _bits(expanded[0], 60), _bits(expanded[1], 24)
    seconds = _bits(expanded[5], 60) if len(fields) == 6 else _bits(["*"] if whole_minutes else [0], 60)
    return _repeated(_repeated(seconds, minutes, 60), hours, 3600)


@lru_cache(maxsize=65536)
def days_of_year(days: str, year: int) -> int:
    """A bit for each day of the year, from 1 January, that the three day fields name."""
    in_month, month, weekday = days.split()
    if year < FIRST_WALL_TIME.year:
        return 0
    if "*" in (in_month, weekday):
        return _days_named(days, year)
    by_month, by_week = days_of_year(f"{in_month} {month} *", year), days_of_year(f"* {month} {weekday}", year)
    return by_month & by_week if in_month.startswith("*") or weekday.startswith("*") else by_month | by_week


def _days_named(days: str, year: int) -> int:
    if any(sign in days for sign in ("L", "W", "#")):
        return _days_asked(days, year)
    _, _, in_month, months, weekdays = _expanded(["0", "0", *days.split()])
    first = date(year, 1, 1)
    found = 0
    for n in range((date(year + 1, 1, 1) - first).days):
        day = first + n * _ONE_DAY
        if _has(months, day.month) and _has(in_month, day.day) and _has(weekdays, day.isoweekday() % 7):
            found |= 1 << n
    return found


def _days_asked(days: str, year: int) -> int:
    """The same, for days counted from the end of a month or by weeks, which only croniter can tell."""
    matches, first, found = Matches(f"0 0 {days}"), datetime(year, 1, 1), 0
    day = matches.first_from(first)
    while day.year == year:
        found |= 1 << (day - first).days
        day = matches.first_from(day + _ONE_DAY)
    return found


def _expanded(fields: list[str]) -> list[list[Any]]:
    values, _ = croniter.expand(" ".join(fields), second_at_beginning=True)
    return list(values)


def _bits(values: list[Any], size: int) -> int:
    return sum(1 << value for value in (range(size) if "*" in values else set(values)))


def _repeated(pattern: int, places: int, width: int) -> int:
    found = 0
    for place in range(places.bit_length()):
        if places >> place & 1:
            found |= pattern << place * width
    return found


def _has(values: list[Any], value: int) -> bool:
    return values[0] == "*" or value in values
