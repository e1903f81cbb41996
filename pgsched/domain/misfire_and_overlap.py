"""Decides which of a job's instants run and which are skipped, and what happens to an instant during an earlier run.

A job has one waiting row, for its next instant. Claiming this row plans the row for the instant that follows. If no
worker was running or the row was held, further instants may have passed. No instant is silently dropped: each one runs,
is recorded as skipped, or is decided later because it is not before the successor.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from pgsched.domain.counting_instants import Missed
from pgsched.domain.duration import MICROSECOND, NO_TIME
from pgsched.domain.recurrence import Recurrence
from pgsched.domain.recurrence_rules import OnMissed, OnOverlap, Rules
from pgsched.domain.schedule import write_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRange:
    """Consecutive instants of a job, from ``first`` to ``last`` inclusive, that are skipped for the same reason."""

    first: datetime
    last: datetime
    count: int
    reason: str

    @classmethod
    def of(cls, missed: Missed, reason: str) -> "SkippedRange":
        return cls(first=missed.first, last=missed.last, count=missed.count, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantDecision:
    """The decision about a claimed row. If the row does not run, its instant is the first one skipped. ``successor`` is
    the job's next instant, or None if there is none.
    """

    runs: bool
    skipped: tuple[SkippedRange, ...] = ()
    successor: datetime | None = None


def decide_instant(recurrence: Recurrence, rules: Rules, scheduled_for: datetime, now: datetime) -> InstantDecision:
    """Decides whether the row of ``scheduled_for``, claimed at ``now``, runs, and which instant is next.

    An instant is too old to run if it is further back than ``catch_up`` plus the delay that jitter or a window allows.
    With ``after_completion``, the row runs unless its instant is at or after ``ends_at``, and the next instant is known
    only when the run ends.
    """
    if recurrence.after_completion:
        return _counted_from_an_end(recurrence, scheduled_for)
    oldest = _oldest(rules, now)
    following = recurrence.next_instant(scheduled_for)
    if oldest is not None and scheduled_for < oldest:
        return _given_up(recurrence, rules, scheduled_for, oldest, now)
    if rules.on_missed is not OnMissed.LATEST or following is None or following > now:
        return InstantDecision(runs=True, successor=following)
    passed = recurrence.missed(scheduled_for - MICROSECOND, now)
    assert passed is not None
    return _coalesced(recurrence, (), scheduled_for, passed.last)


def decide_delayed(recurrence: Recurrence, rules: Rules, scheduled_for: datetime, now: datetime) -> InstantDecision:
    """Decides what happens to a row that had to wait for an earlier run, or that replaces missed instants.

    The row runs however late it is, because a job whose rows are always claimed an interval late must still run. The
    policy ``QUEUE_ONE`` skips the instants that have passed in the meantime. Under all other policies, these instants
    come next.
    """
    if rules.on_overlap is not OnOverlap.QUEUE_ONE:
        return InstantDecision(runs=True, successor=recurrence.next_instant(scheduled_for))
    passed = recurrence.missed(scheduled_for, now)
    if passed is None:
        return InstantDecision(runs=True, successor=recurrence.next_instant(scheduled_for))
    return InstantDecision(
        runs=True, skipped=(SkippedRange.of(passed, "overlap"),), successor=recurrence.next_instant(passed.last)
    )


def _counted_from_an_end(recurrence: Recurrence, scheduled_for: datetime) -> InstantDecision:
    if recurrence.ends_at is None or scheduled_for < recurrence.ends_at:
        return InstantDecision(runs=True)
    return InstantDecision(
        runs=False, skipped=(SkippedRange(first=scheduled_for, last=scheduled_for, count=1, reason="ends_at"),)
    )


def _oldest(rules: Rules, now: datetime) -> datetime | None:
    catch_up = rules.catch_up
    if catch_up is None and rules.on_missed is OnMissed.SKIP:
        catch_up = timedelta(minutes=1)
    return None if catch_up is None else now - catch_up - (rules.spread or NO_TIME)


def _given_up(
    recurrence: Recurrence, rules: Rules, scheduled_for: datetime, oldest: datetime, now: datetime
) -> InstantDecision:
    skipped = (_range(recurrence, scheduled_for, oldest, "missed"),)
    successor = recurrence.next_instant(oldest - MICROSECOND)
    if rules.on_missed is not OnMissed.LATEST or successor is None or successor > now:
        return InstantDecision(runs=False, skipped=skipped, successor=successor)
    passed = recurrence.missed(oldest - MICROSECOND, now)
    assert passed is not None
    return _coalesced(recurrence, skipped, passed.first, passed.last)


def _coalesced(
    recurrence: Recurrence, skipped: tuple[SkippedRange, ...], first: datetime, latest: datetime
) -> InstantDecision:
    """Skips the instants from ``first`` up to ``latest``, which comes next."""
    if first < latest:
        reason = f"coalesced_into {write_instant(latest)}"
        skipped = (*skipped, _range(recurrence, first, latest, reason))
    return InstantDecision(runs=False, skipped=skipped, successor=latest)


def _range(recurrence: Recurrence, first: datetime, end: datetime, reason: str) -> SkippedRange:
    """Returns the range from ``first``, which may no longer be in the schedule, to the last instant before ``end``."""
    further = recurrence.missed(first, end - MICROSECOND)
    if further is None:
        return SkippedRange(first=first, last=first, count=1, reason=reason)
    return SkippedRange(first=first, last=further.last, count=1 + further.count, reason=reason)


class OverlapDecision(Enum):
    """What to do: ``RUN`` beside the earlier run, ``WAIT`` for its end, ``SKIP`` this instant, or ``CANCEL`` the
    earlier run.
    """

    RUN = auto()
    WAIT = auto()
    SKIP = auto()
    CANCEL = auto()


def decide_overlap(rules: Rules) -> OverlapDecision:
    """Decides about a run that comes due during an earlier run. With ``after_completion``, the run waits, because its
    instant is counted from the end of the earlier run.
    """
    if rules.on_overlap is OnOverlap.ALLOW:
        return OverlapDecision.RUN
    if rules.after_completion:
        return OverlapDecision.WAIT
    match rules.on_overlap:
        case OnOverlap.SKIP:
            return OverlapDecision.SKIP
        case OnOverlap.CANCEL_RUNNING:
            return OverlapDecision.CANCEL
        case OnOverlap.QUEUE_ONE | OnOverlap.QUEUE_ALL:
            return OverlapDecision.WAIT
