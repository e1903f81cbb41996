"""Parses cron expressions, and finds the wall-clock times that match them, regardless of zone.

pgsched parses expressions itself, so that no expression is misread. croniter gets the parsed values, as lists of
numbers, and only finds the next time.

Counting and excluding need all matching times of a day. These times are the bits of an int, one for each second, so
that union, difference and counting take one operation per day.
"""

import copy
import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache

from croniter import CroniterBadDateError, croniter

from pgsched.domain.cron_days import days_of_month, days_of_week, days_of_year, names
from pgsched.domain.cron_fields import DAY_OF_MONTH, DAY_OF_WEEK, LIMITS, WEEKDAYS, listed, refuse_item, values_in
from pgsched.domain.duration import SECOND
from pgsched.domain.time_zone import HORIZON_YEARS
from pgsched.errors import InvalidSchedule

FIRST_WALL_TIME = datetime(1970, 1, 1)
"""Searches begin at this time or later."""

DAY = 86_400
"""Seconds in a day."""

_ANY_SECOND = (1 << 60) - 1
_LONGEST = 256
_LONE_DAYS = re.compile(r"\dW|LW|#| \S*L|,\S*\*|\*\S*,")  # cron dialects disagree on these if both day fields are set
_COUNTED_DAY = re.compile(r"(?<![#/\d])\d", re.ASCII)
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A parsed expression. ``seconds``, ``minutes`` and ``hours`` have a bit for each value that the expression names,
    and ``days`` contains the three day fields. ``fixed`` is False if the expression is by elapsed time.

    ``written`` is the expression in croniter's form. If ``finds_too_many``, croniter also finds times on days that the
    day fields do not name; these times are discarded.
    """

    seconds: int
    minutes: int
    hours: int
    days: str
    fixed: bool
    written: str
    finds_too_many: bool

    def occurs(self, year: int) -> bool:
        """Whether the expression names a day in ``year`` or in the following 50 years."""
        return any(days_of_year(self.days, one) for one in range(year, year + HORIZON_YEARS + 1))

    @property
    def in_day(self) -> int:
        """A bit for each matching second of a day."""
        return _in_day(self.seconds, self.minutes, self.hours)

    def on(self, day: date) -> int:
        """Returns ``in_day`` if ``day`` matches, and 0 otherwise."""
        return self.in_day if names(self.days, day) else 0

    def first_from(self, wall: datetime) -> datetime:
        """Returns the first match at or after ``wall``, which must be a whole second. Returns datetime.max if there is
        none within 50 years.
        """
        times = copy.copy(_times(self.written))  # not shared, because a croniter stores its position
        before = max(wall, FIRST_WALL_TIME) - SECOND
        last_year = before.year + HORIZON_YEARS
        while before.year <= last_year:
            try:
                found: datetime = times.get_next(datetime, start_time=before)
            except CroniterBadDateError:
                break
            if not self.finds_too_many or names(self.days, found):
                return found
            before = found.replace(hour=23, minute=59, second=59)
        return datetime.max


class Matches:
    """The matching times of an expression. The last result is cached, because the same search is repeated for each span
    of a zone, and takes milliseconds if matches are years apart."""

    def __init__(self, expression: str) -> None:
        self._read = read(expression)
        self.fixed = self._read.fixed
        self._asked = self._found = datetime.max

    def first_from(self, wall: datetime) -> datetime:
        """Returns the first match at or after ``wall``, like ``Expression.first_from``."""
        if not self._asked <= wall <= self._found:
            self._asked, self._found = wall, self._read.first_from(wall)
        return self._found


@lru_cache(maxsize=16384)
def _times(written: str) -> croniter:
    """Creates a croniter when it is first needed. Creation is slow, and some expressions, such as excluded patterns,
    are never searched."""
    return croniter(written, FIRST_WALL_TIME, second_at_beginning=True, implement_cron_bug=True)


@lru_cache(maxsize=2048)
def _in_day(seconds: int, minutes: int, hours: int) -> int:
    return _repeated(_repeated(seconds, minutes, 60), hours, 3600)


def _repeated(pattern: int, places: int, width: int) -> int:
    found = 0
    for place in range(places.bit_length()):
        if places >> place & 1:
            found |= pattern << place * width
    return found


@lru_cache(maxsize=2048)
def whole_minutes(expression: str) -> Expression:
    """Parses an expression like ``read``. Without a seconds field, it matches every second of its minutes."""
    found = read(expression)
    return found if len(expression.split()) == 6 else replace(found, seconds=_ANY_SECOND)


@lru_cache(maxsize=16384)
def read(expression: str) -> Expression:
    """Parses an expression. Raises InvalidSchedule if it is invalid, or if other dialects read it differently."""
    fields = _fields_of(expression)
    named = dict(zip(list(LIMITS)[-len(fields) :], fields, strict=True))
    for name, field in named.items():
        if "" in field.split(","):
            refuse_item(name, field)
    *times, months = [
        values_in(name, field) for name, field in named.items() if name not in (DAY_OF_MONTH, DAY_OF_WEEK)
    ]
    in_month, _, in_week = fields[-3:]
    days = _starred(in_month, days_of_month(in_month)), _listed(months), _starred(in_week, days_of_week(in_week))
    if "*" not in (in_month, in_week) and _LONE_DAYS.search(f"{in_month} {in_week}"):
        raise InvalidSchedule(f"cron {expression!r}: if a day field has W, #, L5 or a list with *, the other must be *")
    return Expression(
        seconds=times[0] if len(fields) == 6 else 1,
        minutes=times[-2],
        hours=times[-1],
        days=" ".join(fields[-3:]),
        fixed=not fields[-5].startswith("*") and not fields[-4].startswith("*"),
        written=" ".join([*map(_listed, times), *days]),
        finds_too_many="W" in in_month or "L-" in in_month,
    )


def _starred(field: str, days: str) -> str:
    """Returns ``days``, or the field itself if it begins with ``*``, so that croniter requires both fields to match."""
    return field if field.startswith("*") and "," not in field else days


def _listed(values: int) -> str:
    return ",".join(listed(values))


def _fields_of(expression: str) -> list[str]:
    """Returns the five or six fields in upper case, with ``?`` in a day field replaced with ``*``."""
    shown = repr(expression[:64])
    if expression.startswith("@") and expression.lower() not in _MACROS:
        raise InvalidSchedule(
            f'cron {shown} is unknown: write one of {" ".join(_MACROS)}, or five fields; for an interval, use "every"'
        )
    if "=" in expression:
        raise InvalidSchedule(f'cron {shown} contains a time zone: give the zone separately, as "timezone"')
    if re.match(r"(cron|rate|at)\(", expression, re.IGNORECASE):
        raise InvalidSchedule(
            f"cron {shown} is a call: write only what is in its parentheses "
            '(five fields for "cron", or a rate for "every")'
        )
    fields = _MACROS.get(expression.lower(), expression).split()
    if len(fields) not in (5, 6) or len(expression) > _LONGEST:
        raise InvalidSchedule(
            f"cron {shown} has {_counted(len(fields))}: write five (minute hour day-of-month month day-of-week) "
            f"or six with the seconds first, in at most {_LONGEST} characters; for years, use starts_at and ends_at"
        )
    fields = [field.upper() if field.isascii() else field for field in fields]
    _check_dialect(shown, fields)
    return ["*" if field == "?" and len(fields) - at in (1, 3) else field for at, field in enumerate(fields)]


def _check_dialect(shown: str, fields: list[str]) -> None:
    """Refuses expressions that have another meaning in dialects with ``?``, where a year may come last and Sunday may
    be day 1.
    """
    if len(fields) == 6 and "?" in (fields[2], fields[4]):
        five = " ".join("*" if field == "?" else field for field in [*fields[:4], _by_name(fields[4])])
        raise InvalidSchedule(
            f"cron {shown} has ? where six fields have hour or month: if the last field is EventBridge's year, "
            f"write five fields without it, {five!r}, and starts_at and ends_at for years"
        )
    if "?" in (fields[-3], fields[-1]) and _COUNTED_DAY.search(fields[-1]):
        raise InvalidSchedule(
            f"cron {shown} has numbers for days of the week together with ?, where Sunday may be 0 or 1: write "
            "names, such as MON-FRI or FRI#2, or * for ?"
        )


def _counted(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


def _by_name(weekdays: str) -> str:
    """Replaces numbers in a list of weekdays, where Sunday is 1, with names, and writes the list in our notation."""
    named = re.sub(r"(?<![#L\d/])[1-7](?!\d)", lambda found: WEEKDAYS[int(found[0]) - 1], weekdays)
    return ",".join(map(_day_of_week, named.split(",")))


def _day_of_week(item: str) -> str:
    """Writes an item in our notation: ``SAT`` for L, ``L5`` for FRIL, and a list of days for MON/2."""
    if item == "L":
        return WEEKDAYS[-1]
    if found := re.fullmatch(r"([A-Z]{3})L", item):
        return f"L{WEEKDAYS.index(found[1])}" if found[1] in WEEKDAYS else item
    if (found := re.fullmatch(r"([A-Z]{3})/([1-7])", item)) and found[1] in WEEKDAYS:
        return ",".join(WEEKDAYS[WEEKDAYS.index(found[1]) :: int(found[2])])
    return item
