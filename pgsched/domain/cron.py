"""Cron expressions on the wall clock of a time zone, also on the days when that clock is changed.

croniter is asked one thing only: which wall-clock times, without any zone, match an expression. What such a
time is on the world's clock is decided here. A zone is a row of spans of constant offset. Between two of them
the wall clock is put forward (the *gap*: times that never happen) or back (the *overlap*: times that happen
twice).

An expression is *by elapsed time* when its minute or its hour field begins with ``*``: it fires at each
instant whose wall-clock time matches, so in both passes of an overlap and not at all in a gap. Every other
expression names fixed times of the day, and the policies of the ``Cron`` say what becomes of one in a gap or
an overlap.
"""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from croniter import CroniterBadDateError, croniter

from pgsched.errors import InvalidSchedule

_SECOND = timedelta(seconds=1)
_PROBE = timedelta(hours=12)  # no zone was ever changed and changed back within half a day
_FIRST_INSTANT, _LAST_YEAR = datetime(1970, 1, 1), 9000
_HORIZON_YEARS = 50  # a fifth Monday in February can be 40 years away
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_NOT_ZONES = {"localtime", "posixrules", "Factory", "posix", "right"}  # of one machine, or with leap seconds
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


class Gap(StrEnum):
    """What becomes of a fixed time of day that the clocks skip."""

    SHIFT = "shift"  # it fires at the first instant after the gap, once for all the times skipped
    SKIP = "skip"


class Overlap(StrEnum):
    """When a fixed time of day fires that happens twice because the clocks go back."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """The instants at which a zone's wall clock matches a cron expression.

    ``expression`` has five fields (minute, hour, day of month, month, day of week), or six with the seconds
    first, or is one of ``@hourly @daily @midnight @weekly @monthly @yearly @annually``. When both day fields
    are given, either is enough, unless one begins with ``*``: then both must match. ``timezone`` is an IANA
    name; ``gap`` and ``overlap`` concern fixed times.

    Raises InvalidSchedule when the expression cannot be read, never occurs, or the zone is unknown.
    """

    expression: str
    timezone: str = "UTC"
    gap: Gap = Gap.SHIFT
    overlap: Overlap = Overlap.FIRST

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", " ".join(self.expression.split()))
        if not _occurs(self):
            raise InvalidSchedule(
                f"cron {self.expression!r} never occurs in {self.timezone} with gap={self.gap}: "
                "write a day and a time that exist"
            )


@lru_cache(maxsize=65536)
def next_occurrence(cron: Cron, after: datetime) -> datetime | None:
    """The first instant of ``cron`` strictly later than ``after``; both in UTC.

    None when there is none within 50 years. Memoised: jobs that share schedule and instant share one search.
    """
    if after.year >= _LAST_YEAR:
        return None
    earliest = max(after.replace(microsecond=0, tzinfo=None), _FIRST_INSTANT) + _SECOND
    matches = _Matches(cron.expression)
    for span in _spans(cron.timezone, earliest):
        found = _first_in(span, earliest, cron, matches)
        if found is not None:
            return found.replace(tzinfo=UTC)
    return None


def clock_note(cron: Cron, at: datetime) -> str | None:
    """What a change of the clocks has to do with the occurrence of ``cron`` at ``at`` (aware), or None."""
    local = at.astimezone(_zone(cron.timezone))
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        return f"{'second' if local.fold else 'first'} of two {_clock_face(local)}: the clocks go back"
    instant = at.astimezone(UTC).replace(tzinfo=None)
    span = next(_spans(cron.timezone, instant))
    matches = _Matches(cron.expression)
    if instant != span.opens or not _shifts_to_opening(span, cron, matches):
        return None
    skipped, wall = matches.first_from(span.opens + span.before), local.replace(tzinfo=None)
    day = "" if skipped.date() == wall.date() else f"{skipped:%Y-%m-%d} "
    verb = "stands for itself and" if matches.first_from(wall) == wall else "shifted from"
    return f"{verb} {day}{_clock_face(skipped)}: the clocks went forward"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A stretch of constant offset from UTC: [opens, closes) in UTC, and the offsets on either side of it."""

    opens: datetime
    closes: datetime
    before: timedelta
    offset: timedelta
    following: timedelta


class _Matches:
    """The wall-clock times that match an expression; the last answer is kept for as long as it holds."""

    def __init__(self, expression: str) -> None:
        template, self.fixed = _read(expression)
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


def _first_in(span: _Span, earliest: datetime, cron: Cron, matches: _Matches) -> datetime | None:
    if span.opens >= earliest and _shifts_to_opening(span, cron, matches):
        return span.opens
    low, high = span.opens + span.offset, span.closes + span.offset
    if matches.fixed and cron.overlap is Overlap.FIRST:
        low = span.opens + max(span.before, span.offset)
    elif matches.fixed and cron.overlap is Overlap.SECOND:
        high = span.closes + min(span.following, span.offset)
    wall = matches.first_from(max(low, earliest + span.offset))
    return wall - span.offset if wall < high else None


def _shifts_to_opening(span: _Span, cron: Cron, matches: _Matches) -> bool:
    """Whether a gap just before the span swallowed a time that therefore fires at the span's opening."""
    if span.before >= span.offset or not matches.fixed or cron.gap is not Gap.SHIFT:
        return False
    return matches.first_from(span.opens + span.before) < span.opens + span.offset


def _spans(timezone: str, instant: datetime) -> Iterator[_Span]:
    """The spans from the one that holds ``instant`` (naive, UTC) to the horizon; each ends with the year."""
    opens = datetime(instant.year - 1, 1, 1)
    before = offset = _offset(_zone(timezone), opens)
    for year in range(opens.year, min(opens.year + 1 + _HORIZON_YEARS, _LAST_YEAR)):
        for closes, following in _changes(timezone, year):
            if closes > instant:
                yield _Span(opens=opens, closes=closes, before=before, offset=offset, following=following)
            opens, before, offset = closes, offset, following


@lru_cache(maxsize=8192)
def _changes(timezone: str, year: int) -> tuple[tuple[datetime, timedelta], ...]:
    """Each change of the year (naive instant in UTC, the offset from then on); the year's end comes last."""
    zone, start, end = _zone(timezone), datetime(year, 1, 1), datetime(year + 1, 1, 1)
    probes = [start + n * _PROBE for n in range((end - start) // _PROBE + 1)]
    offsets = [_offset(zone, probe) for probe in probes]
    steps = pairwise(zip(probes, offsets, strict=True))
    changes = [(_change_between(zone, early, late), new) for (early, old), (late, new) in steps if old != new]
    return (*changes, (end, offsets[-1]))


def _change_between(zone: ZoneInfo, early: datetime, late: datetime) -> datetime:
    """The first whole second with the offset of ``late`` rather than that of ``early``."""
    new = _offset(zone, late)
    while late - early > _SECOND:
        middle = early + (late - early) // (2 * _SECOND) * _SECOND
        early, late = (early, middle) if _offset(zone, middle) == new else (middle, late)
    return late


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return zone.fromutc(instant.replace(tzinfo=zone)).replace(tzinfo=None) - instant


def _clock_face(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


@lru_cache(maxsize=16384)
def _occurs(cron: Cron) -> bool:
    return next_occurrence(cron, _SOME_DAY) is not None


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    try:
        if name.partition("/")[0] in _NOT_ZONES:
            raise ValueError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = {zone.casefold(): zone for zone in available_timezones()}
        near = get_close_matches(name[:64].casefold(), known, n=1)
        hint = known[near[0]] if near else "Europe/Berlin or UTC"
        problem = f"there is no time zone {name[:64]!r}: write an IANA name such as {hint}"
        raise InvalidSchedule(problem) from None


@lru_cache(maxsize=16384)
def _read(expression: str) -> tuple[croniter, bool]:
    """A croniter to copy before use, and whether the expression names fixed times of the day."""
    fields = _split(expression)
    for name, field in zip(list(_FIELDS)[-len(fields) :], fields, strict=True):
        _check_field(name, field)
    minute, hour, day_of_month, _, day_of_week = fields[-5:]
    if "*" not in (day_of_month, day_of_week) and _LONE_DAYS.search(f"{day_of_month} {day_of_week}"):
        raise InvalidSchedule(f"cron {expression!r}: W, #, L5 and lists with * need * as the other day field")
    template = croniter(" ".join(fields), _FIRST_INSTANT, second_at_beginning=True, implement_cron_bug=True)
    return template, not minute.startswith("*") and not hour.startswith("*")


def _split(expression: str) -> list[str]:
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
