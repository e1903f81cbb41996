"""Decides which run of another job a run waits for, and what happens to the waiting run.

Both runs belong to the same hour, day, week or month on the waiting job's clock. The run waits for the other job's last
run in that period at or before the run's own instant or, if there is none, for the first run after the instant. The
decision is made when the instant has come, and again after each wait, because the other job may have been edited,
paused or deleted in the meantime.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from pgsched.domain.headers import shown
from pgsched.domain.schedule import write_instant
from pgsched.domain.time_zone import zone_named
from pgsched.errors import InvalidSchedule

_EXAMPLE = 'write an object such as {"job": "import", "same": "day", "on_failure": "skip", "on_none": "run"}'


class Same(StrEnum):
    """The period that both runs share, on the waiting job's clock."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class OnFailure(StrEnum):
    """What to do with a waiting run if the other job's run did not succeed or never happened."""

    SKIP = "skip"
    RUN = "run"
    WAIT = "wait"


class OnNone(StrEnum):
    """What to do with a waiting run if the other job's schedule has no instant in the period."""

    RUN = "run"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The rule ``after``. ``job`` is the key of the job whose run comes first."""

    job: str
    same: Same = Same.DAY
    on_failure: OnFailure = OnFailure.SKIP
    on_none: OnNone = OnNone.RUN

    def period(self, instant: datetime, timezone: str) -> tuple[datetime, datetime]:
        """Returns the start of the period that contains the instant, and the start of the next period, both in UTC."""
        zone = zone_named(timezone)
        wall = instant.astimezone(zone)
        if self.same is Same.HOUR:  # by elapsed time: an hour that the clocks repeat counts as two
            since = timedelta(minutes=wall.minute, seconds=wall.second, microseconds=wall.microsecond)
            begin = (instant - since).astimezone(UTC)
            return begin, begin + timedelta(hours=1)
        day = wall.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        if self.same is Same.WEEK:
            day -= timedelta(days=day.weekday())
        elif self.same is Same.MONTH:
            day = day.replace(day=1)
        length = {Same.DAY: 1, Same.WEEK: 7}.get(self.same)
        following = (day + timedelta(days=length or 32)).replace(fold=0)
        if length is None:
            following = following.replace(day=1)
        return day.astimezone(UTC), following.astimezone(UTC)


class OtherRun(NamedTuple):
    """A run of the other job. ``status`` is None while the run is unfinished."""

    id: bytes
    instant: datetime
    status: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """The other job. ``state`` is None if no job has the key. ``runs`` are its runs in the period and its earlier
    unfinished runs, in order. ``expected`` is an instant of its schedule in the period, or None. ``is_planned`` says
    whether the job has a planned row.
    """

    state: str | None = None
    runs: Sequence[OtherRun] = ()
    expected: datetime | None = None
    is_planned: bool = False
    keeps_successes: bool = True


@dataclass(frozen=True, slots=True)
class WaitFor:
    """The waiting run waits until ``run`` ends. Then the decision is made again."""

    run: OtherRun


@dataclass(frozen=True, slots=True)
class LookAgain:
    """There is no run to wait for yet, so the decision is repeated later."""

    reason: str


@dataclass(frozen=True, slots=True)
class SkipRun:
    """The waiting run is skipped for this reason."""

    reason: str


Decision = WaitFor | LookAgain | SkipRun | None
"""The decision about a waiting run. None means that the run goes ahead."""


def decide_upstream(after: After, other: Other, instant: datetime, begin: datetime) -> Decision:
    """Decides about the waiting run of ``instant``, whose period starts at ``begin``."""
    ran = [run for run in other.runs if run.instant >= begin and run.status != "skipped"]
    before = [run for run in ran if run.instant <= instant]
    if not ran:
        return _without_a_run(after, other, begin)
    chosen = before[-1] if before else ran[0]
    if chosen.status is None:
        return WaitFor(chosen)
    if chosen.status == "succeeded":
        return None
    later = [run for run in ran if run.instant > chosen.instant]
    return _failed(after, later, f"the run of {write_instant(chosen.instant)} ended with status {chosen.status}")


def _without_a_run(after: After, other: Other, begin: datetime) -> Decision:
    if other.state is None:
        return _failed(after, [], "there is no such job")
    behind = [run for run in other.runs if run.instant < begin and run.status is None]
    if other.state in ("paused", "invalid") and not behind:
        return _failed(after, [], f"the job is {other.state}")
    if other.expected is None or other.state == "finished":
        return (
            None
            if after.on_none is OnNone.RUN
            else SkipRun(f"after {after.job}: the job has no run within the same {after.same}")
        )
    if behind:
        return WaitFor(behind[-1])
    if not other.is_planned:
        return LookAgain(f"waits: job {after.job} is about to be planned")
    if not other.keeps_successes:  # the run must have succeeded, because a failure would have been kept
        return None
    return _failed(after, [], f"there was no run of {write_instant(other.expected)}")


def _failed(after: After, later: Sequence[OtherRun], what: str) -> Decision:
    reason = f"after {after.job}: {what}"
    if after.on_failure is not OnFailure.WAIT:
        return None if after.on_failure is OnFailure.RUN else SkipRun(reason)
    if any(run.status == "succeeded" for run in later):
        return None
    going = [run for run in later if run.status is None]
    return WaitFor(going[0]) if going else LookAgain(f"waits {reason}")


def parse_after(key: str, value: Any) -> After:
    """Parses the rule from a JSON object. Raises InvalidSchedule if it is invalid."""
    given = {name: text for name, text in value.items() if text is not None} if isinstance(value, dict) else {}
    if unknown := sorted(given.keys() - set(After.__slots__)):
        raise InvalidSchedule(f'"{key}" cannot contain {unknown[0][:64]!r}: {_EXAMPLE}')
    job = given.get("job")
    if not isinstance(job, str) or not 1 <= len(job) <= 200:
        raise InvalidSchedule(f'"{key}" must contain the key of a job (got {shown(value)}): {_EXAMPLE}')
    for name, kind in (("same", Same), ("on_failure", OnFailure), ("on_none", OnNone)):
        if name in given and (not isinstance(given[name], str) or given[name] not in list(kind)):
            raise InvalidSchedule(f'"{name}" in "{key}" cannot be {shown(given[name])}: write one of {", ".join(kind)}')
    return After(
        job=job,
        same=Same(given.get("same", Same.DAY)),
        on_failure=OnFailure(given.get("on_failure", OnFailure.SKIP)),
        on_none=OnNone(given.get("on_none", OnNone.RUN)),
    )
