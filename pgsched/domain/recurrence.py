"""The instants of a recurring job: the instants of all its schedules that are within its bounds and not excluded.

If nothing is excluded, the next instant is the earliest next instant of the job's schedules. An excluded stretch of
time is skipped in one step. With excluded patterns, each day is examined as a set of seconds, which takes microseconds.

A search takes milliseconds, whatever the rules. It tries a number of days on which a schedule fires, and then up to
five years of consecutive days (fewer if there are many schedules and patterns). Patterns contain no years, so if they
leave any instant of a frequent schedule, they leave one within four years.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Unpack

from pgsched.domain.counting_instants import (
    Missed,
    count_between,
    count_by_hour,
    count_hits,
    first_between,
    microseconds,
)
from pgsched.domain.cron import Cron, clock_note
from pgsched.domain.duration import MICROSECOND
from pgsched.domain.excluded_times import Excluded, excluded
from pgsched.domain.recurrence_rules import NO_RULES, Rules, check_whole_seconds
from pgsched.domain.schedule import Every, Fire, Schedule, ScheduleParts, from_parts, instant_of, next_instant
from pgsched.domain.time_zone import LAST_YEAR, zone_named
from pgsched.errors import InvalidSchedule

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_RARE = 200  # maximum number of firing days tried, divided by the number of schedules and patterns
_PATIENCE = 6000  # maximum number of consecutive days tried, divided by the same number
_LONGEST_PATIENCE = 5 * 366
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """The instants at which a job fires, shown in ``timezone``. The job does not fire at the instants in
    ``exceptions``.

    With ``after_completion``, the job has one schedule, whose interval is counted from the end of each run.
    """

    specs: tuple[Schedule, ...]
    excluded: Excluded | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    timezone: str = "UTC"
    after_completion: bool = False
    exceptions: frozenset[datetime] = frozenset()

    def next_instant(self, after: datetime) -> datetime | None:
        """Returns the first instant strictly later than ``after``, in UTC, or None if the search finds none.

        With ``after_completion``, returns the instant that follows a run that ended at ``after``. Raises
        InvalidSchedule if ``after`` has no UTC offset.
        """
        if self.starts_at is not None:
            after = max(instant_of(after, "after"), self.starts_at - MICROSECOND)
        found = self._next(after)
        while found is not None and found in self.exceptions:
            found = self._next(found)
        if found is None or (self.ends_at is not None and found >= self.ends_at):
            return None
        return found

    def instants(self, after: datetime, count: int) -> list[datetime]:
        """Returns the first ``count`` instants strictly later than ``after``, in order, or fewer if the job ends."""
        found: list[datetime] = []
        while len(found) < count:
            following = self.next_instant(found[-1] if found else after)
            if following is None:
                break
            found.append(following)
        return found

    def fires(self, after: datetime, count: int) -> list[Fire]:
        """Returns the same instants as ``instants``, in readable form: on the job's clock, with a note on each instant
        that a clock change affects."""
        return [self._fire(at) for at in self.instants(after, count)]

    def missed(self, after: datetime, until: datetime) -> Missed | None:
        """Counts the instants later than ``after`` and no later than ``until``. Returns None if there are none. With
        ``after_completion``, returns None, because only the next instant of such a job is known."""
        low, high = self._bounded(after + MICROSECOND, until + MICROSECOND)
        if self.after_completion:
            return None
        out = sorted(at for at in self.exceptions if low <= at < high)
        begins, ends = [low, *(at + MICROSECOND for at in out)], [*out, high]
        parts = (count_between(self.specs, self.excluded, *part) for part in zip(begins, ends, strict=True))
        found = [part for part in parts if part is not None]
        if not found:
            return None
        return Missed(count=sum(part.count for part in found), first=found[0].first, last=found[-1].last)

    def by_hour(self, start: datetime, end: datetime) -> dict[datetime, int]:
        """Counts the instants from ``start`` until ``end`` (exclusive), keyed by the start of the UTC hour.

        Hours without instants are omitted. With ``after_completion``, the result is empty.
        """
        low, high = self._bounded(start, end)
        if self.after_completion:
            return {}
        found = count_by_hour(self.specs, self.excluded, low, high)
        for at in self.exceptions:
            hour = at.replace(minute=0, second=0, microsecond=0)
            if low <= at < high and count_hits(self.specs, self.excluded, [microseconds(at)]):
                found[hour] -= 1
        return {hour: fires for hour, fires in found.items() if fires}

    def count_hits(self, moments: Iterable[int]) -> int:
        """Returns how many of ``moments``, which are sorted microseconds since 1970, are instants of the job. With
        ``after_completion``, returns 0."""
        if self.after_completion:
            return 0
        low, high = (microseconds(end) for end in (self.starts_at or _EARLIEST, self.ends_at or _LATEST))
        out = {microseconds(at) for at in self.exceptions}
        return count_hits(self.specs, self.excluded, (at for at in moments if low <= at < high and at not in out))

    def _bounded(self, low: datetime, high: datetime) -> tuple[datetime, datetime]:
        return max(low, self.starts_at or low), min(high, self.ends_at or high)

    def _next(self, after: datetime) -> datetime | None:
        if self.after_completion:
            return self._after_run(after)
        return self._of_any(after) if self.excluded is None else self._not_excluded(after, self.excluded)

    def _not_excluded(self, after: datetime, excluded: Excluded) -> datetime | None:
        found = self._outside_stretches(after, excluded)
        parts = len(self.specs) + len(excluded.patterns)
        for _ in range(max(_RARE // parts, 1)):
            if found is None or found.year >= LAST_YEAR:
                return None
            midnight = found.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
            if left := first_between(self.specs, excluded, found, midnight):
                return left
            found = self._outside_stretches(midnight - MICROSECOND, excluded)
        patience = timedelta(days=min(_PATIENCE // parts, _LONGEST_PATIENCE))
        return None if found is None else first_between(self.specs, excluded, found, found + patience)

    def _outside_stretches(self, after: datetime, excluded: Excluded) -> datetime | None:
        found = self._of_any(after)
        while found is not None and (end := excluded.until(found)) is not None:
            found = self._of_any(end - MICROSECOND)
        return found

    def _of_any(self, after: datetime) -> datetime | None:
        if len(self.specs) == 1:
            return next_instant(self.specs[0], after)
        found = (next_instant(spec, after) for spec in self.specs)
        return min((at for at in found if at is not None), default=None)

    def _after_run(self, ended: datetime) -> datetime | None:
        [every] = self.specs
        assert isinstance(every, Every)
        first = max(every.anchor, self.starts_at or every.anchor)
        return first if ended < first else ended.astimezone(UTC) + every.interval

    def _fire(self, at: datetime) -> Fire:
        local = at.astimezone(zone_named(self.timezone)).isoformat()
        notes = (clock_note(spec, at) for spec in self.specs if isinstance(spec, Cron) and _fires(spec, at))
        return Fire(fire_at=at, local=local, note=next((note for note in notes if note is not None), None))


def recurrence(
    *,
    identity: str | None = None,
    rules: Rules = NO_RULES,
    exceptions: frozenset[datetime] = frozenset(),
    **parts: Unpack[ScheduleParts],
) -> Recurrence:
    """Builds the recurrence of a job from its columns and rules; None means not given.

    Takes the parts that ``from_parts`` takes, but allows ``timezone`` and ``anchor`` with any kind of schedule, because
    rules may use them: ``timezone`` for excluded days, ``anchor`` for a further interval. Raises InvalidSchedule if the
    parts contradict each other, or if the job would never fire.
    """
    every, timezone = parts.get("every"), parts.get("timezone")
    _check_interval(every, rules)
    start = parts.get("anchor") if rules.anchor is None else rules.anchor
    if every is None:
        own = from_parts(**(parts | {"anchor": None}), identity=identity)
    else:
        own = from_parts(cron=parts.get("cron"), every=every, anchor=start)
    further = [item.schedule(timezone=timezone, anchor=start, identity=identity) for item in rules.also]
    zone = "UTC" if timezone is None else timezone
    found = Recurrence(
        specs=tuple(dict.fromkeys([own, *further])),
        excluded=excluded(rules.exclude, zone),
        starts_at=rules.starts_at,
        ends_at=rules.ends_at,
        timezone=zone,
        after_completion=rules.after_completion,
        exceptions=exceptions,
    )
    _check_zone_and_seconds(found)
    _check_fires(found)
    return found


def _check_interval(every: object, rules: Rules) -> None:
    for name, value in (("anchor", rules.anchor), ("after_completion", rules.after_completion or None)):
        if value is not None and every is None:
            raise InvalidSchedule(f'"{name}" needs "every": leave "{name}" out of the rules, or give "every"')


def _check_zone_and_seconds(found: Recurrence) -> None:
    zone_named(found.timezone)
    for spec in found.specs:
        if isinstance(spec, Every) and (len(found.specs) > 1 or found.excluded is not None):
            check_whole_seconds(spec)


def _check_fires(found: Recurrence) -> None:
    """Raises InvalidSchedule if the job would never fire. Each schedule by itself is already known to fire. A job whose
    end has passed is accepted, because it was valid once.
    """
    if found.excluded is None and found.ends_at is None:
        return
    begin = found.starts_at or (_SOME_DAY if found.ends_at is None else _EPOCH)
    if found.next_instant(begin - MICROSECOND) is None:
        hint = "exclude less, or leave more time between starts_at and ends_at"
        raise InvalidSchedule(f"the job would never fire within its rules: {hint}")


def _fires(cron: Cron, at: datetime) -> bool:
    return next_instant(cron, at - timedelta(seconds=1)) == at
