"""The ``exclude`` rule of a job: the days, periods and cron patterns during which the job does not fire."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import lru_cache
from operator import itemgetter

from pgsched.domain.cron import Cron
from pgsched.domain.cron_expression import DAY, whole_minutes
from pgsched.domain.duration import LONGEST, MICROSECOND, ONE_DAY
from pgsched.domain.schedule import instant_of
from pgsched.domain.seconds_of_day import matching, within
from pgsched.domain.time_zone import spans
from pgsched.errors import InvalidSchedule

_BEGINS_WITH_A_DATE = re.compile(r"\d{4}-\d", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_BLANKS = " \t\r\n"
_YEARS = range(1971, 8990)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HINT = (
    "write a date (2026-12-25), a range of dates (2026-12-24/2026-12-31), two instants with an offset "
    "(2026-12-24T18:00:00Z/2026-12-27T06:00:00Z) or a cron expression"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedDays:
    """Whole days in the time zone of the job, both ends included."""

    first: date
    last: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The instants from ``start`` (inclusive) to ``end`` (exclusive)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The times on the job's wall clock that a cron expression matches: whole minutes, or seconds if it has six
    fields."""

    expression: str


Exclusion = ExcludedDays | Between | Pattern


def begins_with_a_date(text: str) -> bool:
    """Whether an item of ``exclude`` is a date or a range, rather than a cron expression."""
    return _BEGINS_WITH_A_DATE.match(text.strip(_BLANKS)) is not None


@lru_cache(maxsize=16384)
def parse_exclusion(text: str) -> Exclusion:
    """Parses one item of ``exclude``. Raises InvalidSchedule, with what to write instead, if it is invalid."""
    stripped = text.strip(_BLANKS)
    if not begins_with_a_date(stripped):
        return _pattern(stripped)
    first, *rest = (end.strip(_BLANKS) for end in stripped.split("/"))
    if len(rest) > 1 or (not rest and not _DATE.fullmatch(first)):
        raise InvalidSchedule(f'"exclude" {text[:64]!r} is not valid: {_HINT}')
    last = rest[0] if rest else first
    dates = [bool(_DATE.fullmatch(end)) for end in (first, last)]
    if dates == [True, True]:
        return _days(text, _date(first), _date(last))
    if any(dates):
        raise InvalidSchedule(f'"exclude" {text[:64]!r} mixes a date and an instant: {_HINT}')
    return _between(text, instant_of(first, "exclude"), instant_of(last, "exclude"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """All exclusions of a job, on the clock of its ``timezone``.

    ``stretches`` are half-open ranges of microseconds since the epoch, sorted and without overlap.
    """

    timezone: str
    patterns: tuple[str, ...]
    stretches: tuple[tuple[int, int], ...]

    def until(self, instant: datetime) -> datetime | None:
        """Returns the end of the excluded stretch that contains ``instant``, or None if there is none. Ignores
        patterns.
        """
        at = (instant - _EPOCH) // MICROSECOND
        found = bisect_right(self.stretches, at, key=itemgetter(0)) - 1
        if found < 0 or at >= self.stretches[found][1]:
            return None
        return _EPOCH + self.stretches[found][1] * MICROSECOND

    def remaining(self, seconds: int, day: int, fraction: int) -> int:
        """Returns the given seconds, without those whose instants, ``fraction`` microseconds later, are excluded."""
        first = bisect_right(self.stretches, day * DAY * 1_000_000, key=itemgetter(0)) - 1
        for opens, closes in self.stretches[max(first, 0) :]:
            low, high = (-((fraction - end) // 1_000_000) for end in (opens, closes))
            if low >= (day + 1) * DAY or not seconds:
                break
            seconds &= ~within(seconds, day, low, high)
        return seconds & ~self._matching(day) if seconds else 0

    def _matching(self, day: int) -> int:
        found = 0
        for pattern in self.patterns:
            found |= matching(whole_minutes(pattern), self.timezone, day)
        return found


def excluded(exclusions: tuple[Exclusion, ...], timezone: str) -> Excluded | None:
    """Combines exclusions in a time zone, or returns None if there are none. Raises InvalidSchedule for an unknown
    zone.
    """
    if not exclusions:
        return None
    patterns = dict.fromkeys(item.expression for item in exclusions if isinstance(item, Pattern))
    stretches = list[tuple[int, int]]()
    for opens, closes in sorted(end for item in exclusions for end in _stretches(item, timezone)):
        if stretches and opens <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(closes, stretches[-1][1]))
        else:
            stretches.append((opens, closes))
    return Excluded(timezone=timezone, patterns=tuple(patterns), stretches=tuple(stretches))


def _stretches(exclusion: Exclusion, timezone: str) -> list[tuple[int, int]]:
    match exclusion:
        case ExcludedDays():
            return _local_days(exclusion, timezone)
        case Between():
            return [((exclusion.start - _EPOCH) // MICROSECOND, (exclusion.end - _EPOCH) // MICROSECOND)]
        case Pattern():
            return []


def _local_days(days: ExcludedDays, timezone: str) -> list[tuple[int, int]]:
    """Returns the stretches of time in which the zone's calendar shows one of the days. If the clocks change, there can
    be several stretches.
    """
    low, high = (datetime.combine(day, time()) for day in (days.first, days.last + ONE_DAY))
    found, epoch = list[tuple[int, int]](), _EPOCH.replace(tzinfo=None)
    for span in spans(timezone, low - 2 * ONE_DAY):  # no zone's offset is as much as two days
        opens, closes = max(span.opens, low - span.offset), min(span.closes, high - span.offset)
        if opens < closes:
            found.append(((opens - epoch) // MICROSECOND, (closes - epoch) // MICROSECOND))
        if span.closes > high + 2 * ONE_DAY:
            break
    return found


def _pattern(text: str) -> Pattern:
    try:
        return Pattern(expression=Cron(expression=text).expression)
    except InvalidSchedule as error:
        raise InvalidSchedule(f'"exclude" {text[:64]!r} is neither a date nor a cron expression ({error})') from None


def _days(text: str, first: date, last: date) -> ExcludedDays:
    if last < first:
        raise InvalidSchedule(f'"exclude" {text!r} ends before it starts: write the earlier date first')
    if last - first > LONGEST:
        raise InvalidSchedule(f'"exclude" {text!r} is longer than ten years: write ends_at, or several ranges')
    return ExcludedDays(first=first, last=last)


def _between(text: str, start: datetime, end: datetime) -> Between:
    if end <= start:
        raise InvalidSchedule(f'"exclude" {text[:80]!r} must end after it starts: write the earlier instant first')
    return Between(start=start, end=end)


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(f'"exclude" {text!r} is not a date that exists: write one such as 2026-12-25') from None
    if found.year not in _YEARS:
        raise InvalidSchedule(f'"exclude" {text!r} is out of range: write a year from {_YEARS[0]} to {_YEARS[-1]}')
    return found
