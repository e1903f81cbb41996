"""The fields of cron expressions: the forms that each field accepts, and the values that it names, as bits of an int.

Items that have no effect or that cron dialects read differently are refused, with advice on what to write instead.
"""

import re
from functools import lru_cache
from typing import NoReturn

from pgsched.errors import InvalidSchedule

DAY_OF_MONTH, MONTH, DAY_OF_WEEK = "day-of-month", "month", "day-of-week"
LIMITS = {
    "second": (0, 59),
    "minute": (0, 59),
    "hour": (0, 23),
    DAY_OF_MONTH: (1, 31),
    MONTH: (1, 12),
    DAY_OF_WEEK: (0, 6),
}
"""The fields of an expression in order, with their lowest and highest values."""

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_NAMES = {
    MONTH: {name: n for n, name in enumerate(_MONTHS, 1)},
    DAY_OF_WEEK: {name: n for n, name in enumerate(WEEKDAYS)} | {"7": 0, "07": 0},
    DAY_OF_MONTH: {"L": 31},
}
_ITEM = re.compile(r"(?:\*|(?P<low>\d{1,2}|[A-Z]{3})(?:-(?P<high>\d{1,2}|[A-Z]{3}|L))?)(?:/(?P<step>\d+))?", re.ASCII)
_HINTS = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    DAY_OF_MONTH: "1-31, L for the last day, LW for the last weekday, 15W for the weekday nearest to the 15th",
    MONTH: "1-12, JAN-DEC",
    DAY_OF_WEEK: "0-7 (0 and 7 are Sunday), SUN-SAT, 5#2 for the second Friday, L5 for the last",
}
_ELSEWHERE = {
    "H": " has H, whose value depends on the job: give the job's identity, or write the value",
    "R": " has R, which is not supported: write H, which is drawn once for each job, or the value",
    "?": " has ?, which is only for the two day fields and must stand alone: write *",
}
"""Advice on items of other dialects, by the first character of the item."""


@lru_cache(maxsize=16384)
def values_of(name: str, item: str) -> int:
    """Returns a bit for each value that a number, a range or a step names. Raises InvalidSchedule for anything else."""
    found = _ITEM.fullmatch(item)
    if found is None:
        refuse_item(name, item)
    first, last = LIMITS[name]
    step = int(found["step"] or 1)
    if found["low"] is None:
        values = range(first, last + 1)
    elif found["high"] is None:
        low = number_of(name, found["low"], item)
        values = range(low, (last if found["step"] else low) + 1)
        if found["step"] and name == DAY_OF_WEEK:
            _refuse(name, item, " starts in the middle of a week: write the days as a list, such as MON,WED,FRI")
    else:
        values = _range(name, item, found["low"], found["high"], stepped=found["step"] is not None)
    if step == 0:
        refuse_item(name, item)
    if step > 1 and step >= len(values):
        _refuse(
            name,
            item,
            f" has a step larger than its range: write the single value {values[0]}, or, for a fixed interval, give "
            '"every" instead of "cron"',
        )
    return sum(
        1 << value for value in {value if value <= last else value - last - 1 + first for value in values[::step]}
    )


def values_in(name: str, field: str) -> int:
    """Returns a bit for each value that the items of a field name. Raises InvalidSchedule if an item is invalid."""
    found = 0
    for item in field.split(","):
        found |= values_of(name, item)
    return found


def listed(values: int) -> list[str]:
    """Returns the positions of the bits that are set, each as text."""
    return [str(value) for value in range(values.bit_length()) if values >> value & 1]


def number_of(name: str, text: str, item: str) -> int:
    """Returns the value of a number or a name in the field ``name``; Sunday is 0. Raises InvalidSchedule if the field
    has no such value.
    """
    number = _NAMES.get(name, {}).get(text, int(text) if text.isdigit() else -1)
    if not LIMITS[name][0] <= number <= LIMITS[name][1]:
        refuse_item(name, item)
    return number


def refuse_item(name: str, item: str) -> NoReturn:
    """Raises InvalidSchedule with the forms that the field accepts."""
    if (advice := _ELSEWHERE.get(item[:1])) and not item[1:2].isalpha():
        _refuse(name, item, advice)
    if "~" in item:
        _refuse(
            name, item, " would be drawn again each time: write H(0-30), which is drawn once for each job, or the value"
        )
    _refuse(name, item, f" is not valid: write {_HINTS[name]}, a list (1,15), a range (1-5) or a step (*/10)")


def _range(name: str, item: str, low: str, high: str, *, stepped: bool) -> range:
    """Returns the values from ``low`` to ``high``. A range that passes the end of the field continues at its start."""
    start, end = number_of(name, low, item), number_of(name, high, item)
    first, last = LIMITS[name]
    if name == DAY_OF_WEEK and high in ("7", "07") and low not in ("7", "07"):
        end = last + 1
    if start == end:
        _refuse(name, item, " starts where it ends: write the single value, or * for all")
    if start < end:
        return range(start, end + 1)
    if stepped:
        _refuse(name, item, " has a step and wraps around: write the values as a list")
    return range(start, last + 1 + end - first + 1)


def _refuse(name: str, item: str, why: str) -> NoReturn:
    raise InvalidSchedule(f"cron {name} {item[:64]!r}{why}")
