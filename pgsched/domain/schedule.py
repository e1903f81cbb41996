"""Schedules (``Once``, ``Every`` and ``Cron``), and the instants at which they fire.

This module does not read the clock. Instants may have any UTC offset and are returned in UTC. A datetime without an
offset is refused, because it is ambiguous.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypedDict, TypeVar, assert_never

from pgsched.domain.cron import Cron, Gap, Overlap, next_occurrence
from pgsched.domain.duration import check_duration, length_of
from pgsched.domain.start_jitter import resolve_hashes
from pgsched.errors import InvalidSchedule

_SUCH = "2026-03-01T09:00:00Z"
SHORTEST_INTERVAL = timedelta(seconds=1)

_INSTANT = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[Tt ](?P<minute>(?:[01]\d|2[0-3]):[0-5]\d)(?P<second>:[0-5]\d(?:\.\d{1,9})?)?"
    r"(?P<offset>[Zz]|[+-](?:0\d|1[0-5])(?::?[0-5]\d)?)?)?",
    re.ASCII,
)
_Policy = TypeVar("_Policy", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A schedule with one instant. Raises InvalidSchedule if ``fire_at`` has no UTC offset."""

    fire_at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "fire_at", _in_utc(self.fire_at, "fire_at"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Fires at ``anchor``, and again each time ``interval`` has elapsed, regardless of clock changes.

    Instants are counted from the anchor, never from the last run, so they do not drift. Raises InvalidSchedule if
    ``interval`` is shorter than a second or longer than ten years, or if ``anchor`` has no UTC offset.
    """

    interval: timedelta
    anchor: datetime

    def __post_init__(self) -> None:
        if check_duration(self.interval) < SHORTEST_INTERVAL:
            raise InvalidSchedule('"every" must be at least a second: write PT1S or more')
        object.__setattr__(self, "anchor", _in_utc(self.anchor, "anchor"))


Schedule = Once | Every | Cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """An instant in readable form: ``fire_at`` in UTC, and ``local`` in ISO 8601 on the schedule's own clock.

    ``note`` describes the effect of a clock change, such as "first of two 02:30", or is None.
    """

    fire_at: datetime
    local: str
    note: str | None


def next_instant(schedule: Schedule, after: datetime) -> datetime | None:
    """Returns the first instant of ``schedule`` strictly later than ``after``, in UTC. Returns None if a ``Once`` has
    passed, or if a ``Cron`` does not fire in the next 50 years.

    Raises InvalidSchedule if ``after`` has no UTC offset.
    """
    moment = _in_utc(after, "after")
    match schedule:
        case Once():
            return schedule.fire_at if schedule.fire_at > moment else None
        case Every():
            return _next_multiple(schedule, moment)
        case Cron():  # without the fraction, so that all callers within a second share one search
            return next_occurrence(schedule, moment.replace(microsecond=0))
        case _:
            assert_never(schedule)


class ScheduleParts(TypedDict, total=False):
    """The parts of a recurring schedule, as in a request, a command line or a row; None means not given."""

    cron: str | None
    every: str | timedelta | None
    timezone: str | None
    gap: str | None
    overlap: str | None
    anchor: str | datetime | None


def from_parts(
    *,
    fire_at: str | datetime | None = None,
    cron: str | None = None,
    every: str | timedelta | None = None,
    timezone: str | None = None,
    gap: str | None = None,
    overlap: str | None = None,
    anchor: str | datetime | None = None,
    identity: str | None = None,
) -> Schedule:
    """Builds the schedule that a request, a command line or a row describes; None means not given.

    Exactly one of ``fire_at`` (ISO 8601 with offset), ``cron`` and ``every`` (a duration) must be given. ``timezone``,
    ``gap`` and ``overlap`` are allowed only with ``cron``. ``anchor`` is required with ``every``, and allowed only
    there. ``H`` in ``cron`` requires ``identity`` (see ``resolve_hashes``). Raises InvalidSchedule for any other
    combination.
    """
    _check_combination({"fire_at": fire_at, "cron": cron, "every": every})
    _check_companions("cron", cron, {"timezone": timezone, "gap": gap, "overlap": overlap})
    _check_companions("every", every, {"anchor": anchor})
    if fire_at is not None:
        return Once(fire_at=instant_of(fire_at, "fire_at"))
    if cron is not None:
        return Cron(
            expression=cron if identity is None else resolve_hashes(cron, identity),
            timezone="UTC" if timezone is None else timezone,
            gap=_policy(Gap, gap, "gap"),
            overlap=_policy(Overlap, overlap, "overlap"),
        )
    if anchor is None:
        raise InvalidSchedule('"every" needs an anchor to count from: give "anchor", such as 2026-03-01T09:00:00Z')
    assert every is not None
    interval = length_of(every, '"every"')
    return Every(interval=interval, anchor=instant_of(anchor, "anchor"))


def _next_multiple(every: Every, after: datetime) -> datetime | None:
    if after < every.anchor:
        return every.anchor
    try:
        return every.anchor + ((after - every.anchor) // every.interval + 1) * every.interval
    except OverflowError:  # past the year 9999
        return None


def _check_combination(kinds: dict[str, object]) -> None:
    given = [f'"{name}"' for name, value in kinds.items() if value is not None]
    if not given:
        raise InvalidSchedule('a schedule is missing: give one of "fire_at", "cron" and "every"')
    if len(given) > 1:
        surplus = "both" if len(given) == 2 else "all of them"
        raise InvalidSchedule(f"give either {' or '.join(given)}, not {surplus}")


def _check_companions(kind: str, value: object, companions: dict[str, object]) -> None:
    given = [name for name, companion in companions.items() if companion is not None]
    if given and value is None:
        raise InvalidSchedule(f'"{given[0]}" needs "{kind}": leave "{given[0]}" out, or give "{kind}"')


def _policy(kind: type[_Policy], text: str | None, name: str) -> _Policy:
    choices = list(kind)
    if text is None:
        return choices[0]
    if text not in choices:
        raise InvalidSchedule(f'"{name}" cannot be {text!r:.64}: write one of {", ".join(choices)}')
    return kind(text)


def instant_of(value: str | datetime, name: str) -> datetime:
    """Converts a datetime, or ISO 8601 text, to an instant in UTC. Raises InvalidSchedule, with ``name`` in the
    message, if the value is invalid or has no offset.
    """
    if isinstance(value, datetime):
        return _in_utc(value, name)
    if not isinstance(value, str):
        raise InvalidSchedule(
            f'"{name}" cannot be {value!r:.80}: write a datetime with an offset, or a string such as {_SUCH}'
        )
    try:
        found = read_instant(value)
    except ValueError:
        hint = f"write ISO 8601 with an offset, such as {_SUCH} or 2026-03-01T10:00:00+01:00"
        raise InvalidSchedule(f'"{name}" {value[:64]!r} is not an instant: {hint}') from None
    return _in_utc(found, name)


def read_instant(text: str) -> datetime:
    """Parses an RFC 3339 instant. A space may replace the T, and the seconds, the offset or the time may be missing.

    Raises ValueError for any other text, including texts that PostgreSQL or another Python release would read
    differently: 24:00, second 60, week dates, and texts without separators.
    """
    found = _INSTANT.fullmatch(text.strip(" \t\r\n"))
    if found is None:
        raise ValueError(f"{text[:64]!r} is not an instant")
    second, offset = (found["second"] or "")[: len(":05.123456")], (found["offset"] or "").upper()
    return datetime.fromisoformat(f"{found['date']}T{found['minute'] or '00:00'}{second}{offset}")


def write_instant(instant: datetime) -> str:
    """Formats an instant as RFC 3339 in UTC, such as ``2026-03-01T09:00:00Z``."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _in_utc(value: datetime, name: str) -> datetime:
    if value.utcoffset() is None:
        shown = value.isoformat()
        raise InvalidSchedule(f'"{name}" {shown} has no offset: write {shown}Z for UTC, or for example {shown}+01:00')
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidSchedule(f'"{name}" {value.isoformat()} is out of range: write a year from 2 to 9998') from None
