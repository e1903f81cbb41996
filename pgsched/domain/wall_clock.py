"""Cron expressions as bit sets of wall-clock time: the seconds of a day.

A day of seconds is an int of 86,400 bits. Union, difference and counting are then one operation a day each, which is
what makes a year of a job that fires each second countable in milliseconds.
"""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from pgsched.domain.days import names
from pgsched.domain.expression import read

DAY = 86_400
ALL_DAY = (1 << DAY) - 1

_EPOCH = date(1970, 1, 1).toordinal()
_ANY_SECOND = (1 << 60) - 1


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
        return self.in_day if names(self.days, date.fromordinal(_EPOCH + day)) else 0


@lru_cache(maxsize=2048)
def wall(expression: str, *, whole_minutes: bool = False) -> Wall:
    """The times that match the expression; of five fields the minute's first second, or all of them."""
    found = read(expression)
    seconds = _ANY_SECOND if whole_minutes and not found.has_seconds else found.seconds
    return Wall(days=found.days, in_day=_repeated(_repeated(seconds, found.minutes, 60), found.hours, 3600))


def _repeated(pattern: int, places: int, width: int) -> int:
    found = 0
    for place in range(places.bit_length()):
        if places >> place & 1:
            found |= pattern << place * width
    return found
