"""The coming week of jobs: how often they fire in each hour, computed from their schedules rather than from rows."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import ceil, log1p
from typing import Any
from uuid import UUID

import msgspec

from pgsched.domain.job_definition import Definition
from pgsched.domain.recurrence import Recurrence
from pgsched.errors import InvalidSchedule

DAYS = 7
_SHADES = 5
_AT_LEAST = 50
"""The number of jobs that are computed regardless of the time limit."""
_LISTED = 100
_MOST_TIMES = 4
_HOUR = timedelta(hours=1)
_MICROSECOND = timedelta(microseconds=1)
_LANE = 64
"""Bits per hour in an integer that holds a whole week, so that adding two integers adds two weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hour:
    """One cell. ``shade`` is 0 if no job fires, and 5 in the busiest hour."""

    at: datetime
    fires: int
    shade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Week:
    """One row for each hour of the day, with a cell for each of seven days.

    ``chosen`` lists the jobs that fire in the chosen hour, each with its number of fires, most frequent first.
    ``looked_at`` is the number of jobs that were examined; if time ran out, ``after`` is the last of these jobs.
    ``unclear`` is the number of examined jobs that cannot be predicted.
    """

    days: Sequence[datetime]
    rows: Sequence[Sequence[Hour]]
    fires: int
    looked_at: int
    unclear: int
    after: UUID | None
    chosen: Sequence[tuple[Definition, int]] = ()
    more_chosen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day of a job: how often the job fires, and when. If there are too many ``times``, only the first and the last
    are kept."""

    at: datetime
    fires: int
    times: Sequence[datetime]


def week_of(jobs: Sequence[Definition], start: datetime, hour: datetime | None, *, within: float) -> Week:
    """Computes the week that begins with the day of ``start``, with as many jobs as ``within`` seconds allow."""
    first = _midnight(start)
    until, firing = time.monotonic() + within, list[tuple[Definition, int]]()
    total = unclear = looked_at = 0
    place = None if hour is None else (hour - first) // _HOUR
    for job in jobs:
        if looked_at >= _AT_LEAST and time.monotonic() > until:
            break
        looked_at += 1
        found = _hours_of(job, first)
        unclear += found is None
        total += found or 0
        if found and place is not None and (fires := _at(found, place)):
            firing.append((job, fires))
    firing.sort(key=lambda one: -one[1])
    hours, counts = [first + n * _HOUR for n in range(24 * DAYS)], [_at(total, n) for n in range(24 * DAYS)]
    most = max(counts)
    cells = [Hour(at=at, fires=fires, shade=_shade(fires, most)) for at, fires in zip(hours, counts, strict=True)]
    return Week(
        days=hours[::24],
        rows=[cells[n::24] for n in range(24)],
        fires=sum(counts),
        looked_at=looked_at,
        unclear=unclear,
        after=jobs[looked_at - 1].id if looked_at < len(jobs) else None,
        chosen=firing[:_LISTED],
        more_chosen=max(0, len(firing) - _LISTED),
    )


def days_of(recurrence: Recurrence, start: datetime) -> list[Day]:
    """Returns seven days of one job, beginning with ``start``."""
    return [_day(recurrence, _midnight(start) + timedelta(days=day), start) for day in range(DAYS)]


def _day(recurrence: Recurrence, at: datetime, start: datetime) -> Day:
    low = max(at, start) - _MICROSECOND
    found = recurrence.missed(low, at + timedelta(days=1) - _MICROSECOND)
    if found is None:
        return Day(at=at, fires=0, times=())
    times = recurrence.instants(low, found.count) if found.count <= _MOST_TIMES else (found.first, found.last)
    return Day(at=at, fires=found.count, times=times)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _shade(fires: int, most: int) -> int:
    """Returns the shade for a number of fires, on a logarithmic scale."""
    return ceil(_SHADES * log1p(fires) / log1p(most)) if fires else 0


def _at(week: int, hour: int) -> int:
    """Returns how often jobs fire in the hour with this number, or 0 for an hour before the week."""
    return week >> _LANE * hour & (1 << _LANE) - 1 if hour >= 0 else 0


def _hours_of(job: Definition, first: datetime) -> int | None:
    """Returns ``_counted`` for a job. Returns None if the job cannot be predicted, because its schedule is invalid or
    its interval counts from the end of each run."""
    rules = bytes(job.rules) if isinstance(job.rules, msgspec.Raw) else None
    is_drawn = "H" in (job.cron or "") or b"H" in (rules or b"")
    who = (job.client, job.key, job.id if job.key is None else None) if is_drawn else None
    anchor, out = job.anchor if job.every else None, tuple(job.exceptions or ())
    parts = (job.cron, job.timezone, job.every, anchor, job.gap, job.overlap, out, rules)
    return _counted(parts, who, first)


@lru_cache(maxsize=8192)
def _counted(parts: tuple[Any, ...], who: tuple[str, str | None, UUID | None] | None, first: datetime) -> int | None:
    """Counts how often a schedule fires in each hour of the week that begins at ``first``, and packs the counts into
    one integer. The result is cached, because many jobs share a schedule and pages are reloaded."""
    client, key, id = who or ("", "", None)
    named: Any = dict(zip(("cron", "timezone", "every", "anchor", "gap", "overlap", "exceptions"), parts, strict=False))
    rules = None if parts[-1] is None else msgspec.Raw(parts[-1])
    job = Definition(id=id or UUID(int=0), client=client, key=key, rules=rules, **named)
    try:
        recurrence = job.recurrence()
    except InvalidSchedule:
        return None
    if recurrence.after_completion:
        return None
    found = recurrence.by_hour(first, first + timedelta(days=DAYS))
    return sum(fires << _LANE * ((at - first) // _HOUR) for at, fires in found.items())
