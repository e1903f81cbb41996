"""The seconds of a UTC day at which a schedule fires or a wall clock matches, as bits of an int.

Days are numbered from 1 January 1970. Results omit fractions of a second, because all instants of a schedule have the
same fraction, which the caller knows.
"""

from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple, assert_never

from pgsched.domain.cron import Cron, shifts_to_opening, walls_in
from pgsched.domain.cron_expression import DAY, Expression, Matches, read
from pgsched.domain.duration import SECOND
from pgsched.domain.schedule import Every, Once, Schedule
from pgsched.domain.time_zone import OffsetSpan, spans

_EPOCH = datetime(1970, 1, 1)
_FIRST_DAY = _EPOCH.toordinal()
_ALL_DAY = (1 << DAY) - 1


class OffsetStretch(NamedTuple):
    """A stretch of time, from ``opens`` until ``closes``, in which a wall clock is ``offset`` ahead of UTC. All
    three are in seconds, and the first two are counted from the epoch.
    """

    opens: int
    closes: int
    offset: int


def firing(schedule: Schedule, day: int) -> int:
    """Returns a bit for each second of the day at which the schedule fires. An interval must be whole seconds."""
    match schedule:
        case Once():
            return within(
                1 << _second(schedule.fire_at) % DAY, day, _second(schedule.fire_at), _second(schedule.fire_at) + 1
            )
        case Every():
            return _multiples(schedule, day)
        case Cron():
            return _occurrences(schedule, day)
        case _:
            assert_never(schedule)


def matching(times: Expression, timezone: str, day: int) -> int:
    """Returns a bit for each second of the day at which the zone's wall clock matches the expression."""
    found = 0
    for stretch in _stretches(timezone, _date(day).year):
        found |= _seen_in_utc(times, stretch, day)
    return found


def within(seconds: int, day: int, low: int, high: int) -> int:
    """Returns the given seconds of the day that lie from ``low`` to before ``high`` (in seconds since the epoch)."""
    first, end = max(low - day * DAY, 0), min(high - day * DAY, DAY)
    if first >= end or not seconds:
        return 0
    return seconds if (first, end) == (0, DAY) else seconds & ((1 << end) - (1 << first))


def _multiples(every: Every, day: int) -> int:
    interval, ahead = every.interval // SECOND, _second(every.anchor) - day * DAY
    first = ahead if ahead > 0 else ahead % interval
    return _comb(interval) << first & _ALL_DAY if first < DAY else 0


@lru_cache(maxsize=256)
def _comb(interval: int) -> int:
    """Returns a bit for each multiple of the interval within a day."""
    bits, width = 1, interval
    while width < DAY:
        bits |= bits << width
        width *= 2
    return bits & _ALL_DAY


def _occurrences(cron: Cron, day: int) -> int:
    times, found = read(cron.expression), 0
    stretches, openings = _firing_stretches(cron, _date(day).year)
    for stretch in stretches:
        found |= _seen_in_utc(times, stretch, day)
    for opening in openings:
        if opening // DAY == day:
            found |= 1 << opening % DAY
    return found


def _seen_in_utc(times: Expression, stretch: OffsetStretch, day: int) -> int:
    if stretch.opens >= (day + 1) * DAY or stretch.closes <= day * DAY:
        return 0
    local, into = divmod(day * DAY + stretch.offset, DAY)
    seconds = times.on(_date(local)) >> into
    if into:
        seconds |= times.on(_date(local + 1)) << (DAY - into) & _ALL_DAY
    return within(seconds, day, stretch.opens, stretch.closes)


@lru_cache(maxsize=4096)
def _stretches(timezone: str, year: int) -> tuple[OffsetStretch, ...]:
    return tuple(
        OffsetStretch(opens=_seconds(span.opens), closes=_seconds(span.closes), offset=span.offset // SECOND)
        for span in _spans_of(timezone, year)
    )


@lru_cache(maxsize=16384)
def _firing_stretches(cron: Cron, year: int) -> tuple[tuple[OffsetStretch, ...], tuple[int, ...]]:
    """Returns the stretches in which the cron fires when the wall clock matches, and the seconds at which it fires for
    times in a gap.
    """
    times = Matches(cron.expression)
    found, openings = list[OffsetStretch](), list[int]()
    for span in _spans_of(cron.timezone, year):
        low, high = (_seconds(end - span.offset) for end in walls_in(span, cron, fixed=times.fixed))
        found.append(OffsetStretch(opens=low, closes=high, offset=span.offset // SECOND))
        if shifts_to_opening(span, cron, times):
            openings.append(_seconds(span.opens))
    return tuple(found), tuple(openings)


def _date(day: int) -> date:
    return date.fromordinal(_FIRST_DAY + day)


def _spans_of(timezone: str, year: int) -> list[OffsetSpan]:
    end, found = datetime(year + 1, 1, 1), list[OffsetSpan]()
    for span in spans(timezone, datetime(year, 1, 1)):
        if span.opens >= end:
            break
        found.append(span)
    return found


def _second(instant: datetime) -> int:
    return _seconds(instant.astimezone(UTC).replace(tzinfo=None))


def _seconds(instant: datetime) -> int:
    return (instant - _EPOCH) // SECOND
