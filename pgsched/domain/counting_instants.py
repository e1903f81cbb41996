"""Counts instants without iterating over them. Each day is a set of seconds, and set operations are cheap."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby

from pgsched.domain.cron import Cron
from pgsched.domain.duration import MICROSECOND, ONE_DAY
from pgsched.domain.excluded_times import Excluded
from pgsched.domain.schedule import Every, Schedule
from pgsched.domain.seconds_of_day import firing, within
from pgsched.domain.time_zone import LAST_YEAR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(LAST_YEAR, 1, 1, tzinfo=UTC)
_ONE_HOUR = timedelta(hours=1)
_AN_HOUR = (1 << 3600) - 1
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """The number of instants in a span of time, with the first and the last instant."""

    count: int
    first: datetime
    last: datetime


def count_between(
    specs: tuple[Schedule, ...], excluded: Excluded | None, low: datetime, high: datetime
) -> Missed | None:
    """Counts the instants from ``low`` until ``high`` (exclusive) at which any of ``specs`` fires, unless excluded.
    Returns None if no instant is left.

    Intervals must be whole seconds, unless there is only one schedule and nothing is excluded.
    """
    if low >= high:
        return None
    if len(specs) == 1 and isinstance(specs[0], Every) and excluded is None:
        return _multiples(specs[0], low, high)
    count, first, last = 0, None, None
    for day in _days(low, high):
        found = _left(_firing(specs, day, low, high), excluded, day)
        if found:
            count += sum(seconds.bit_count() for seconds in found.values())
            last = max(_instant(day, seconds.bit_length() - 1, fraction) for fraction, seconds in found.items())
            first = first or _first_of(found, day)
    return Missed(count=count, first=first, last=last) if first and last else None


def count_by_hour(
    specs: tuple[Schedule, ...], excluded: Excluded | None, low: datetime, high: datetime
) -> dict[datetime, int]:
    """Counts like ``count_between``, but for each UTC hour, keyed by the start of the hour. Hours without instants are
    omitted."""
    if low >= high:
        return {}
    if len(specs) == 1 and isinstance(specs[0], Every) and excluded is None:
        return _multiples_by_hour(specs[0], low, high)
    found = dict[datetime, int]()
    for day in _days(low, high):
        for seconds in _left(_firing(specs, day, low, high), excluded, day).values():
            for hour, count in _hours(seconds):
                at = _EPOCH + timedelta(days=day, hours=hour)
                found[at] = found.get(at, 0) + count
    return found


def count_hits(specs: tuple[Schedule, ...], excluded: Excluded | None, moments: Iterable[int]) -> int:
    """Counts the ``moments`` at which any of ``specs`` fires and that are not excluded.

    ``moments`` must be sorted. They are microseconds since the epoch, because there may be millions of them.
    """
    if len(specs) == 1 and isinstance(specs[0], Every) and excluded is None:
        anchor, interval = microseconds(specs[0].anchor), specs[0].interval // MICROSECOND
        return sum(at >= anchor and not (at - anchor) % interval for at in moments)
    return sum(_hits_of(specs, excluded, day, found) for day, found in groupby(moments, lambda at: at // _DAY))


def microseconds(instant: datetime) -> int:
    """Converts an instant to microseconds since the epoch."""
    return (instant - _EPOCH) // MICROSECOND


def _hits_of(specs: tuple[Schedule, ...], excluded: Excluded | None, day: int, moments: Iterable[int]) -> int:
    begin = _EPOCH + day * ONE_DAY
    found = _left(_firing(specs, day, begin, begin + ONE_DAY), excluded, day)
    return sum(found.get(at % _SECOND, 0) >> at % _DAY // _SECOND & 1 for at in moments)


def first_between(
    specs: tuple[Schedule, ...], excluded: Excluded | None, low: datetime, high: datetime
) -> datetime | None:
    """Returns the first of the instants that ``count_between`` would count, or None if there are none."""
    for day in _days(low, high):
        if found := _left(_firing(specs, day, low, high), excluded, day):
            return _first_of(found, day)
    return None


def _days(low: datetime, high: datetime) -> range:
    high = min(high, _END)
    return range((low - _EPOCH) // ONE_DAY, (high - MICROSECOND - _EPOCH) // ONE_DAY + 1)


def _multiples(every: Every, low: datetime, high: datetime) -> Missed | None:
    first = max(-((every.anchor - low) // every.interval), 0)
    end = -((every.anchor - high) // every.interval)
    if first >= end:
        return None
    at = [every.anchor + n * every.interval for n in (first, end - 1)]
    return Missed(count=end - first, first=at[0], last=at[1])


def _multiples_by_hour(every: Every, low: datetime, high: datetime) -> dict[datetime, int]:
    found = dict[datetime, int]()
    hour = low.replace(minute=0, second=0, microsecond=0)
    while hour < high:
        if counted := _multiples(every, max(low, hour), min(high, hour + _ONE_HOUR)):
            found[hour] = counted.count
        hour += _ONE_HOUR
    return found


@lru_cache(maxsize=256)
def _hours(seconds: int) -> list[tuple[int, int]]:
    """Returns each hour of a day that contains any of ``seconds``, with the number of seconds in it."""
    counts = ((hour, (seconds >> hour * 3600 & _AN_HOUR).bit_count()) for hour in range(24))
    return [(hour, count) for hour, count in counts if count]


def _firing(specs: tuple[Schedule, ...], day: int, low: datetime, high: datetime) -> dict[int, int]:
    """Returns the seconds of the day at which any of ``specs`` fires, grouped by their fraction in microseconds."""
    found = dict[int, int]()
    for spec in specs:
        fraction = _fraction(spec)
        begin, end = (-((fraction - (at - _EPOCH) // MICROSECOND) // _SECOND) for at in (low, high))
        if seconds := within(firing(spec, day), day, begin, end):
            found[fraction] = found.get(fraction, 0) | seconds
    return found


def _left(found: dict[int, int], excluded: Excluded | None, day: int) -> dict[int, int]:
    if excluded is None or not found:
        return found
    left = {fraction: excluded.remaining(seconds, day, fraction) for fraction, seconds in found.items()}
    return {fraction: seconds for fraction, seconds in left.items() if seconds}


def _fraction(spec: Schedule) -> int:
    if isinstance(spec, Cron):
        return 0
    return spec.anchor.microsecond if isinstance(spec, Every) else spec.fire_at.microsecond


def _first_of(found: dict[int, int], day: int) -> datetime:
    return min(_instant(day, (seconds & -seconds).bit_length() - 1, fraction) for fraction, seconds in found.items())


def _instant(day: int, second: int, fraction: int) -> datetime:
    return _EPOCH + timedelta(days=day, seconds=second, microseconds=fraction)
