"""Decides what to do with a claimed instant of a job and with those that passed since: which run, which are skipped,
and why; and what becomes of an instant while an earlier run goes on.

A job has one waiting row, that of its next instant. The claim of that row plans the next one. Where workers were away,
or the row was held back, further instants have passed by then. None of them is silently dropped: each runs, or
is in a range that is recorded as skipped, or comes at or after the successor and is dealt with then.
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
    """Consecutive instants of a job, ``first`` and ``last`` included, that are skipped for one reason."""

    first: datetime
    last: datetime
    count: int
    reason: str

    @classmethod
    def of(cls, missed: Missed, reason: str) -> "SkippedRange":
        return cls(first=missed.first, last=missed.last, count=missed.count, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantDecision:
    """Whether the claimed row runs; it is the first one skipped where not. ``successor`` is None at the job's end."""

    runs: bool
    skipped: tuple[SkippedRange, ...] = ()
    successor: datetime | None = None


def decide_instant(recurrence: Recurrence, rules: Rules, scheduled_for: datetime, now: datetime) -> InstantDecision:
    """What becomes of the row of ``scheduled_for``, claimed at ``now``, and what the job's next row is.

    An instant is too old when it lies more than ``catch_up`` back, not counting what jitter or a window allow. With
    ``after_completion`` the row runs, unless the run before ended too late for another, and its successor is known only
    when the run is over.
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
    """The same for a row that had to wait for an earlier run, or that stands for instants that were missed.

    It runs, however late it is by now: a job whose rows are claimed later than its interval is long would else never
    run. With ``QUEUE_ONE`` nothing else was queued meanwhile; otherwise what passed has its turn next.
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
    """One instant, the latest, stands for all from ``first`` on."""
    if first < latest:
        reason = f"coalesced_into {write_instant(latest)}"
        skipped = (*skipped, _range(recurrence, first, latest, reason))
    return InstantDecision(runs=False, skipped=skipped, successor=latest)


def _range(recurrence: Recurrence, first: datetime, end: datetime, reason: str) -> SkippedRange:
    """The instant ``first``, whatever the schedule says of it by now, and those after it that come before ``end``."""
    further = recurrence.missed(first, end - MICROSECOND)
    if further is None:
        return SkippedRange(first=first, last=first, count=1, reason=reason)
    return SkippedRange(first=first, last=further.last, count=1 + further.count, reason=reason)


class OverlapDecision(Enum):
    """``RUN`` beside the earlier run; ``WAIT`` for its end; ``SKIP`` this instant; or ``CANCEL`` the earlier run."""

    RUN = auto()
    WAIT = auto()
    SKIP = auto()
    CANCEL = auto()


def decide_overlap(rules: Rules) -> OverlapDecision:
    """With ``after_completion`` an instant counts from the end of the run before it, and so never passes that."""
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
