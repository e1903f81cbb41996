"""Reads cron expressions, and finds the wall-clock times (without a zone) that match them."""

import copy
import re
from datetime import datetime, timedelta
from functools import lru_cache

from croniter import CroniterBadDateError, croniter

from pgsched.errors import InvalidSchedule

FIRST_WALL_TIME = datetime(1970, 1, 1)
"""Nothing is looked for before it."""

_SECOND = timedelta(seconds=1)
_LONGEST = 256
_RANGE = re.compile(r"(\d+|L|[A-Z]{3})-(\d+|L|[A-Z]{3})(/\d+)?", re.ASCII)
_LONE_DAYS = re.compile(r"W|#| \S*L|,\S*\*|\*\S*,")  # croniter cannot join these with the other day field
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_NAMES = {"L": 31} | dict(zip(_DAYS, range(7), strict=True)) | dict(zip(_MONTHS, range(1, 13), strict=True))
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L for the last day or 15W for the weekday nearest to the 15th",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 (0 and 7 are Sunday), SUN-SAT, 5#2 for the second Friday or L5 for the last",
}


class Matches:
    """The wall-clock times that match an expression; the last answer is kept for as long as it holds."""

    def __init__(self, expression: str) -> None:
        template, self.fixed = read(expression)
        self._croniter = copy.copy(template)  # it keeps its position in itself, so it is never shared
        self._asked = self._found = datetime.max

    def first_from(self, wall: datetime) -> datetime:
        """The first match at or after ``wall``, a whole second; datetime.max when there is none."""
        if not self._asked <= wall <= self._found:
            self._asked = wall
            try:
                self._found = self._croniter.get_next(datetime, start_time=wall - _SECOND)
            except CroniterBadDateError:
                self._found = datetime.max
        return self._found


@lru_cache(maxsize=16384)
def read(expression: str) -> tuple[croniter, bool]:
    """A croniter to copy before use, and whether the expression names fixed times of the day."""
    fields = fields_of(expression)
    for name, field in zip(list(_FIELDS)[-len(fields) :], fields, strict=True):
        _check_field(name, field)
    minute, hour, day_of_month, _, day_of_week = fields[-5:]
    if "*" not in (day_of_month, day_of_week) and _LONE_DAYS.search(f"{day_of_month} {day_of_week}"):
        raise InvalidSchedule(f"cron {expression!r}: W, #, L5 and lists with * need * as the other day field")
    template = croniter(" ".join(fields), FIRST_WALL_TIME, second_at_beginning=True, implement_cron_bug=True)
    return template, not minute.startswith("*") and not hour.startswith("*")


def fields_of(expression: str) -> list[str]:
    """The five or six fields in upper case, ``?`` written as ``*``."""
    shown = repr(expression[:64])
    if expression.startswith("@") and expression.lower() not in _MACROS:
        raise InvalidSchedule(f"cron {shown} is no time: write one of {' '.join(_MACROS)}, or five fields")
    if "=" in expression:
        raise InvalidSchedule(f"cron {shown}: give the zone apart from the expression, as timezone")
    fields = _MACROS.get(expression.lower(), expression).upper().split()
    if len(fields) not in (5, 6) or len(expression) > _LONGEST:
        raise InvalidSchedule(
            f"cron {shown} has {len(fields)} fields: write five (minute hour day-of-month month day-of-week) "
            f"or six with the seconds first, in at most {_LONGEST} characters"
        )
    return ["*" if field == "?" and n >= len(fields) - 3 else field for n, field in enumerate(fields)]


@lru_cache(maxsize=16384)
def _check_field(name: str, field: str) -> None:
    """Raises InvalidSchedule where croniter cannot read the field, or reads something else than it says."""
    for item in field.split(","):
        _check_item(name, item)
    probe = " ".join(field if known == name else "*" for known in _FIELDS)
    try:
        croniter.expand(probe, second_at_beginning=True)
    except ValueError:
        advice = f"write {_FIELDS[name]}; also lists (1,15), ranges (1-5) and steps (*/10)"
        raise InvalidSchedule(f"cron {name} {field!r} cannot be read: {advice}") from None


def _check_item(name: str, item: str) -> None:
    """Refuses what croniter would read otherwise: ``5-5`` as every value, ``6-1/2`` as 6, ``R`` by chance."""
    problem = f"cron {name} {item!r}"
    if item.startswith("H"):
        raise InvalidSchedule(f"{problem}: H is drawn from a job: give its identity, or write the value")
    if item.startswith("R"):
        raise InvalidSchedule(f"{problem}: R is not supported; write H, which is drawn once for each job, or the value")
    found = _RANGE.fullmatch(item)
    low, high = (_number(end) for end in found.group(1, 2)) if found else (0, 1)
    if low == high or (name, low, high) == ("day-of-week", 7, 0):
        raise InvalidSchedule(f"{problem} starts where it ends: write the one value, or * for all")
    if found and found[3] and low > high:
        raise InvalidSchedule(f"{problem} runs past the end with a step: write the values as a list")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NAMES.get(text, -1)
