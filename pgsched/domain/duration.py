"""Parses durations in ISO 8601 (``PT1H30M``) or short form (``1h30m``), and formats them in ISO 8601."""

import re
from datetime import timedelta
from functools import lru_cache

from pgsched.errors import InvalidSchedule

LONGEST = timedelta(days=3653)
"""The longest delay or interval in pgsched: ten years, including leap days."""

NO_TIME = timedelta(0)
MICROSECOND = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
ONE_DAY = timedelta(days=1)
_NO_DELAY = frozenset({"PT0S", "0s"})
"""Texts that mean no delay. They are not valid as intervals."""
_HINT = "write an ISO 8601 duration such as PT1H30M or P1D, or a short form such as 1h30m, 90s or 250ms"
_CALENDAR_UNITS = re.compile(r"P[^T]*\d[YM]|\d\s*(y|M|mo|mon|months?|years?)\b", re.ASCII)
_ISO = re.compile(
    r"P(?=.)(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,5})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9}(?:[.,]\d{1,6})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
_SHORT = re.compile(
    r"(?=.)(?:(?P<weeks>\d{1,4})w)?(?:(?P<days>\d{1,5})d)?(?:(?P<hours>\d{1,6})h)?(?:(?P<minutes>\d{1,8})m(?!s))?"
    r"(?:(?P<seconds>\d{1,9}(?:\.\d{1,6})?)s)?(?:(?P<milliseconds>\d{1,12})ms)?",
    re.ASCII,
)

_WHOLE = re.compile(r"(?<![.,0-9])[0-9]+")
_LONGEST_TEXT = 100  # in characters; no valid duration is longer, and matching takes quadratic time


def parse_duration(text: str) -> timedelta:
    """Parses a duration, exact to the microsecond.

    Examples are ``P1DT12H``, ``P2W`` and ``PT0.25S`` or, in short form, ``1h30m``, ``250ms`` and ``2d``. Units go from
    the largest to the smallest, each at most once, and only seconds may have a fraction. A day is 24 hours.

    Raises InvalidSchedule if the text has neither form, names months or years (which have no fixed length), or is not
    between a microsecond and ten years.
    """
    return _length(text.strip(" \t\r\n"))


@lru_cache(256)  # a service uses few different durations, and parses each twice
def _length(stripped: str) -> timedelta:
    found = _match(stripped)
    if found is None:
        raise InvalidSchedule(_complaint(stripped))
    try:
        length = timedelta(**_parts(found))
    except OverflowError:
        length = timedelta.max
    return check_duration(length)


def _match(text: str) -> re.Match[str] | None:
    return _ISO.fullmatch(text) or _SHORT.fullmatch(text)


def length_of(given: str | timedelta, name: str = "a duration") -> timedelta:
    """Returns the duration that text or a timedelta represents, which may be zero. Raises InvalidSchedule, with
    ``name`` in the message, for a value of any other type.
    """
    if isinstance(given, timedelta):
        return given
    if not isinstance(given, str):
        raise InvalidSchedule(
            f"{name} cannot be {given!r:.80}: write a timedelta, or a string such as 90s, 10m or PT10M"
        )
    return NO_TIME if given in _NO_DELAY else parse_duration(given)


def parse_shift(text: str) -> timedelta:
    """Parses a shift: a duration as in ``parse_duration``, negative if it begins with a minus sign."""
    stripped = text.strip(" \t\r\n")
    return -parse_duration(stripped[1:]) if stripped.startswith("-") else parse_duration(stripped)


def format_shift(shift: timedelta) -> str:
    """Formats a shift so that ``parse_shift`` reads it back."""
    return f"-{format_duration(-shift)}" if shift < timedelta(0) else format_duration(shift)


def check_duration(length: timedelta) -> timedelta:
    """Returns ``length``. Raises InvalidSchedule unless it is positive and at most ten years."""
    if length <= timedelta(0):
        raise InvalidSchedule("the duration is not longer than zero: write one such as PT5S")
    if length > LONGEST:
        raise InvalidSchedule(f"the duration is longer than ten years: write P{LONGEST.days}D or less")
    return length


def format_duration(length: timedelta) -> str:
    """Formats a duration as ISO 8601 in days, hours, minutes and seconds, such as ``P1DT2H``; zero is ``PT0S``.
    ``parse_duration`` reads the text back exactly. Raises InvalidSchedule if ``length`` is negative."""
    if length < timedelta(0):
        raise InvalidSchedule("the duration is negative: give zero or more")
    hours, rest = divmod(length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    clock = f"{hours}H" if hours else ""
    clock += f"{minutes}M" if minutes else ""
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    days = f"{length.days}D" if length.days else ""
    return f"P{days}T{clock}" if clock else f"P{days or 'T0S'}"


def _parts(found: re.Match[str]) -> dict[str, float]:
    """Returns the arguments for timedelta. All are whole numbers; a fraction of a second becomes microseconds."""
    given = {unit: number for unit, number in found.groupdict().items() if number}
    seconds, _, fraction = given.pop("seconds", "0").replace(",", ".").partition(".")
    parts: dict[str, float] = {unit: int(number) for unit, number in given.items()}
    return parts | {"seconds": int(seconds), "microseconds": int(fraction.ljust(6, "0"))}


def _complaint(text: str) -> str:
    shown = repr(text if len(text) <= 40 else text[:40] + "…")
    if len(text) > _LONGEST_TEXT:
        return f"duration {shown} is longer than {_LONGEST_TEXT} characters: {_HINT}"
    if _match(_WHOLE.sub("1", text)):  # only the number of digits is invalid
        return f"the duration is longer than ten years: write P{LONGEST.days}D or less"
    if text.startswith(("-", "P-", "PT-")):
        return f"duration {shown} is negative: write one longer than zero, such as PT5S"
    if re.fullmatch(r"\d+([.,]\d+)?", text, re.ASCII):
        return f"duration {shown} has no unit: write {text}s for seconds or {text}m for minutes"
    if _CALENDAR_UNITS.search(text):
        return f"duration {shown} names months or years, whose length varies: write days (P30D), or use cron"
    return f"duration {shown} is not valid: {_HINT}"
