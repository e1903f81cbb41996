"""The jobs that the planning laws are tested with. Their instants are computed naively, without the planning code."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from pgsched.domain.schedule import from_parts, next_instant

STARTS = [  # hours before the clocks change in Berlin, New York and Lord Howe
    datetime(2026, 3, 28, 22, 0, tzinfo=UTC),
    datetime(2026, 10, 31, 20, 0, tzinfo=UTC),
    datetime(2026, 4, 4, 9, 0, tzinfo=UTC),
]
_TICK = timedelta(microseconds=1)
_EACH_20_SECONDS = "*/20 * * * * *"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule as a user writes it, and the local times that it leaves out."""

    given: dict[str, str]
    also: tuple[dict[str, str], ...] = ()
    exclude: tuple[str, ...] = ()
    leaves_out: Callable[[datetime], bool] | None = None
    sparse: bool = False

    @property
    def zone(self) -> str:
        return self.given.get("timezone", "UTC")


def _at_night(at: datetime) -> bool:
    return at.hour in {2, 3}


def _on_the_29th(at: datetime) -> bool:
    return at.date() in {date(2026, 3, 29), date(2026, 11, 1), date(2026, 4, 5)}


SCHEDULES = [
    Schedule(given={"every": "7 minutes"}),
    Schedule(given={"every": "90.5 seconds"}),
    Schedule(given={"every": "6 hours"}, sparse=True),
    Schedule(given={"cron": "*/20 * * * *", "timezone": "Europe/Berlin"}),
    Schedule(given={"cron": _EACH_20_SECONDS, "timezone": "Asia/Kathmandu"}),
    Schedule(given={"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, sparse=True),
    Schedule(given={"cron": "30 1,2,12 * * *", "timezone": "America/New_York"}, sparse=True),
    Schedule(given={"cron": "15,45 * * * *", "timezone": "Australia/Lord_Howe"}),
    Schedule(given={"cron": "0 * * * *", "timezone": "Europe/Berlin"}, exclude=("* 2-3 * * *",), leaves_out=_at_night),
    Schedule(given={"cron": "0 */3 * * *"}, also=({"every": "25m"}, {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"})),
    Schedule(
        given={"every": "15 minutes", "timezone": "America/New_York"},
        also=({"cron": "5 0 * * *"},),
        exclude=("2026-03-29", "2026-11-01", "2026-04-05"),
        leaves_out=_on_the_29th,
    ),
]
POLICIES: list[dict[str, Any]] = [
    {},
    {"on_overlap": "allow"},
    {"on_overlap": "queue_one"},
    {"on_overlap": "queue_all"},
    {"on_overlap": "cancel_running"},
    {"on_missed": "skip"},
    {"on_missed": "skip", "catch_up": "1h", "on_overlap": "allow"},
    {"on_missed": "all"},
    {"on_missed": "all", "catch_up": "2h", "on_overlap": "allow"},
    {"on_missed": "all", "catch_up": "30m", "on_overlap": "skip"},
    {"catch_up": "3h"},
    {"jitter": "90s"},
    {"jitter": "20m", "on_overlap": "queue_one", "catch_up": "1h"},
    {"max_runs": 4},
    {"max_runs": 2, "on_missed": "all"},
    {"after_completion": True},
]
_ANEW = {"on_missed", "catch_up", "on_overlap"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A schedule with its rules, at a job's anchor."""

    schedule: Schedule
    policy: dict[str, Any]
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    @property
    def after_completion(self) -> bool:
        """Whether its instants depend on when its runs end, so that they are not known in advance."""
        return "after_completion" in self.policy

    @property
    def foreseeable(self) -> bool:
        """Whether it never ends, and its instants do not depend on its runs."""
        return self.ends_at is None and "max_runs" not in self.policy and not self.after_completion

    def told(self, policy: dict[str, Any]) -> "Spec":
        """The same instants, with this policy's rules for missed and overlapping ones."""
        kept = {name: value for name, value in self.policy.items() if name not in _ANEW}
        return replace(self, policy=kept | {name: value for name, value in policy.items() if name in _ANEW})

    def fires_as(self, other: "Spec") -> bool:
        """Whether both have the same instants, and differ at most in the rules for missed and overlapping ones."""
        return self.told({}) == other.told({})

    @property
    def overlap(self) -> str:
        default = "queue_all" if self.policy.get("on_missed") == "all" else "skip"
        return str(self.policy.get("on_overlap", default))

    def rules(self) -> dict[str, Any]:
        found = dict(self.policy)
        if self.schedule.also:
            found["also"] = list(self.schedule.also)
        if self.schedule.exclude:
            found["exclude"] = list(self.schedule.exclude)
        for name in ("starts_at", "ends_at"):
            if (bound := getattr(self, name)) is not None:
                found[name] = bound.isoformat()
        return found

    def instants(self, anchor: datetime, after: datetime, until: datetime) -> list[datetime]:
        """Return the instants later than ``after`` and not later than ``until``, each schedule followed alone."""
        if self.starts_at is not None:
            after = max(after, self.starts_at - _TICK)
        if self.ends_at is not None:
            until = min(until, self.ends_at - _TICK)
        clock, leaves_out = ZoneInfo(self.schedule.zone), self.schedule.leaves_out
        found = set[datetime]()
        for parts in self._parts():
            found.update(_between(tuple(sorted(parts.items())), anchor, after, until))
        return sorted(at for at in found if leaves_out is None or not leaves_out(at.astimezone(clock)))

    def _parts(self) -> Iterable[dict[str, str]]:
        given = dict(self.schedule.given)
        if "every" in given:
            given.pop("timezone", None)
        yield given
        for one in self.schedule.also:
            yield ({"timezone": self.schedule.zone} if "cron" in one else {}) | one


def _between(parts: tuple[tuple[str, str], ...], anchor: datetime, after: datetime, until: datetime) -> list[datetime]:
    given = dict(parts)
    if "every" in given:
        return _multiples(_length(given["every"]), anchor, after, until)
    if given["cron"] == _EACH_20_SECONDS:
        return _multiples(timedelta(seconds=20), STARTS[0], after, until)
    found: list[datetime] = []
    chunk = after.replace(hour=0, minute=0, second=0, microsecond=0)
    while chunk <= until:
        found += _stepped(parts, chunk)
        chunk += timedelta(days=1)
    return found[bisect_right(found, after) : bisect_right(found, until)]


@cache
def _stepped(parts: tuple[tuple[str, str], ...], midnight: datetime) -> list[datetime]:
    """Return the instants of one day in UTC, found one after the other."""
    schedule, found, end = from_parts(**dict(parts)), list[datetime](), midnight + timedelta(days=1)
    at = next_instant(schedule, midnight - timedelta(seconds=1))
    while at is not None and at < end:
        found.append(at)
        at = next_instant(schedule, at)
    return found


def _multiples(length: timedelta, anchor: datetime, after: datetime, until: datetime) -> list[datetime]:
    n = max((after - anchor) // length + 1, 0)
    found = []
    while (at := anchor + n * length) <= until:
        found.append(at)
        n += 1
    return found


def _length(text: str) -> timedelta:
    if text.endswith("m"):
        return timedelta(minutes=float(text[:-1]))
    number, unit = text.split()
    return timedelta(**{unit: float(number)})
