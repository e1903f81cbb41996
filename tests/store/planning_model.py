"""What planning owes each job: the account that the database must have of each of its instants.

A job's life is a list of eras, each with one schedule. In an era each instant up to the row that carries the job on has
exactly one account: a live row, a row of history, or its place in one skipped range. Later ones have none yet. An era
ends with an edit, a pause, or the cancellation of its waiting row, and the next one begins there.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from tests.store.planning_instants import Spec

_STANDING = {"replaced", "paused", "job cancelled"}
_CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A row of the database that tells what became of one instant of a job, or of several."""

    id: UUID
    scheduled_for: datetime
    last: datetime | None = None
    instants: int | None = None
    status: str = "live"
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class Era:
    """Instants later than ``begin``, and not later than ``end`` where it is over; those of one schedule.

    ``raced``: it ended while a claim had its waiting row, which then runs and knows nothing of what passed since.
    ``before`` are the rows that earlier eras left behind in it.
    """

    spec: Spec
    begin: datetime
    end: datetime | None = None
    raced: bool = False
    before: frozenset[UUID] = frozenset()


@dataclass(slots=True, kw_only=True)
class JobModel:
    """One job. Until it is planned its instants have their account up to ``accounted``, and wait for it from there on.

    ``changed`` is when it was last edited or resumed; ``was_away`` whether it was paused since it was last planned.
    """

    id: UUID
    anchor: datetime
    spec: Spec
    accounted: datetime
    changed: datetime
    state: str = "active"
    planned: bool = False
    was_away: bool = False
    runs: int = 0
    overlaps: set[str] = field(default_factory=set)
    eras: list[Era] = field(default_factory=list)
    before: frozenset[UUID] = frozenset()

    def __post_init__(self) -> None:
        self.overlaps.add(self.spec.overlap)

    def was_edited(self, now: datetime, spec: Spec, accounts: Iterable[Account], *, raced: bool = False) -> None:
        if self.state == "finished":
            self.state, self.accounted = "active", now
        elif self.planned:
            self._end(now, raced)
            self.accounted = now
        self.accounted = min(self.accounted, now)
        for era in self.eras:  # what was cancelled ahead does not bind the new schedule
            era.end = min(era.end or now, now)
        self.spec, self.planned, self.changed, self.runs = spec, False, now, 0
        self.overlaps.add(spec.overlap)
        self.before = _later(accounts, self.accounted)

    def has_begun(self) -> None:
        self.runs += 1
        most = self.spec.policy.get("max_runs")
        assert most is None or self.runs <= most, f"run {self.runs} of {self}"

    def was_told(self, spec: Spec) -> None:
        """Its instants are the same, and so is its waiting row."""
        self.spec = spec
        self.overlaps.add(spec.overlap)

    def was_paused(self, now: datetime, accounts: Iterable[Account], *, raced: bool = False) -> None:
        if self.planned:
            ahead = [one.scheduled_for for one in accounts if one.scheduled_for > now]
            self.accounted = max(ahead, default=now)
            self._end(self.accounted, raced)
        self.state, self.planned, self.was_away = "paused", False, True

    def was_resumed(self, now: datetime) -> None:
        self.state, self.changed = "active", now

    def was_cancelled(self, now: datetime, *, raced: bool = False) -> None:
        if self.planned and self.state == "active":
            self._end(now, raced)
        self.state, self.planned = "cancelled", False

    def lost_its_row(self, at: datetime) -> None:
        """Its waiting row was cancelled: what follows that instant is still to be planned."""
        self._end(at, raced=False)
        self.accounted, self.planned = at, False

    def was_planned(self) -> None:
        """What passed while it was paused is accounted for by its schedule at this moment."""
        if self.was_away and self.accounted < self.changed:
            era = Era(spec=self.spec, begin=self.accounted, end=self.changed, before=self.before)
            self.eras.append(era)
            self.accounted = self.changed
        self.planned, self.was_away = True, False

    def was_finished(self, now: datetime, reason: str, accounts: Iterable[Account]) -> None:
        last = max((one.last or one.scheduled_for for one in accounts), default=now)
        self._end(max(last, self.accounted) if reason == "max_runs" else now, raced=False)
        self.state, self.accounted = "finished", now

    def check(self, accounts: list[Account], waiting: Account | None, *, eras: int = 1) -> None:
        """Raises AssertionError where an instant of the latest ``eras`` has no account, or two."""
        following = [*(era.spec for era in self.eras[1:]), self.spec]
        for era, then in list(zip(self.eras, following, strict=False))[-eras:]:
            own = (
                era.spec.instants(self.anchor, era.begin, era.end) if era.end and not era.spec.after_completion else []
            )
            # What is counted from a run's end may begin at the very moment of the edit.
            shared = then.after_completion and era.end not in own
            _check_era(
                era, self.anchor, [one for one in accounts if not (shared and one.scheduled_for == era.end)], None
            )
        if self.planned and self.state == "active":
            era = Era(spec=self.spec, begin=self.accounted, before=self.before)
            _check_era(era, self.anchor, accounts, waiting)

    def _end(self, end: datetime, raced: bool) -> None:
        self.eras.append(Era(spec=self.spec, begin=self.accounted, end=end, raced=raced, before=self.before))
        self.before = frozenset()


def _later(accounts: Iterable[Account], begin: datetime) -> frozenset[UUID]:
    return frozenset(one.id for one in accounts if one.scheduled_for > begin)


def _check_era(era: Era, anchor: datetime, accounts: list[Account], waiting: Account | None) -> None:
    end = waiting.scheduled_for if waiting else era.end
    if era.spec.after_completion:
        return
    assert end is not None
    instants = era.spec.instants(anchor, era.begin, end)
    within = [one for one in accounts if era.begin < one.scheduled_for and (waiting or one.scheduled_for <= end)]
    covered = [0] * len(instants)
    told = f"{era.spec.schedule.given} {era.spec.rules()} from {era.begin} to {end}"
    for one in within:
        if one.id not in era.before:
            low, high = _covers(one, instants, told)
            for n in range(low, high):
                covered[n] += 1
    twice = [at for at, count in zip(instants, covered, strict=True) if count > 1]
    assert not twice, f"{twice[:3]} have two accounts: {told}: {_near(within, twice[0])}"
    before = {one.scheduled_for: one for one in within if one.id in era.before}
    for at, one in before.items():
        n = bisect_left(instants, at)
        if n < len(instants) and instants[n] == at:
            assert not covered[n] or one.status == _CANCELLED, f"{at} had a row before: {one}: {told}"
            covered[n] = 1
    missing = [at for at, count in zip(instants, covered, strict=True) if not count]
    assert era.raced or not missing, f"{len(missing)} without account: {missing[:3]}: {told}: {within[-3:]}"


def _covers(one: Account, instants: list[datetime], told: str) -> tuple[int, int]:
    low = bisect_left(instants, one.scheduled_for)
    assert low < len(instants), f"{one} is later than the row that carries the job on, or its era: {told}"
    assert instants[low] == one.scheduled_for, f"{one} is for no instant: {told}"
    if one.last is None:
        return low, low + 1
    high = bisect_right(instants, one.last)
    if one.instants is None:
        assert one.reason in _STANDING, one
    else:
        assert high - low == one.instants, f"{one} should count {high - low}: {told}"
        assert instants[high - 1] == one.last, f"{one} ends with no instant: {told}"
    return low, high


def _near(accounts: list[Account], at: datetime) -> list[Account]:
    return [one for one in accounts if one.scheduled_for <= at <= (one.last or one.scheduled_for)]
