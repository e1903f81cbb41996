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
    """One job. ``paused_at`` and ``reached`` tell from where on instants wait for their account until it is planned."""

    id: UUID
    anchor: datetime
    spec: Spec
    begin: datetime
    state: str = "active"
    planned: bool = False
    paused_at: datetime | None = None
    reached: datetime | None = None
    runs: int = 0
    always: set[str] = field(default_factory=set)
    eras: list[Era] = field(default_factory=list)
    before: frozenset[UUID] = frozenset()

    def __post_init__(self) -> None:
        self.always.add(self.overlap)

    @property
    def overlap(self) -> str:
        default = "queue_all" if self.spec.policy.get("on_missed") == "all" else "skip"
        return str(self.spec.policy.get("on_overlap", default))

    def was_edited(self, now: datetime, spec: Spec, accounts: Iterable[Account], *, raced: bool) -> None:
        if self.planned and self.state == "active":
            self._end(now, raced)
        if self.state == "finished":
            self.state, self.runs = "active", 0
        if self.reached is not None and self.reached > now:
            self.eras[-1].end, self.reached = max(now, self.eras[-1].begin), None
        self.spec, self.planned, self.begin = spec, False, now
        self.always.add(self.overlap)
        self.before = _later(accounts, self.reached or self.paused_at or now)

    def was_paused(self, now: datetime, accounts: Iterable[Account], *, raced: bool) -> None:
        if self.planned:
            self._end(now, raced)
            self.paused_at = now
            ahead = [one.scheduled_for for one in accounts if one.scheduled_for > now]
            self.reached = max(ahead, default=None)
            if self.eras and self.reached is not None:
                self.eras[-1].end = self.reached
        self.paused_at = self.paused_at or now
        self.state, self.planned = "paused", False

    def was_resumed(self, now: datetime) -> None:
        self.state, self.planned, self.begin = "active", False, now

    def was_cancelled(self, now: datetime, *, raced: bool) -> None:
        if self.planned and self.state == "active":
            self._end(now, raced)
        self.state, self.planned = "cancelled", True

    def lost_its_row(self, at: datetime) -> None:
        """Its waiting row was cancelled: what follows that instant is still to be planned."""
        self._end(at, False)
        self.reached, self.planned, self.before = at, False, frozenset()

    def was_planned(self) -> None:
        if self.paused_at is not None:
            start = self.reached or self.paused_at
            self.begin = max(self.begin, self.reached or self.begin)
            if start < self.begin:
                self.eras.append(Era(spec=self.spec, begin=start, end=self.begin, before=self.before))
        else:
            self.begin = self.reached or self.begin
        self.planned, self.paused_at, self.reached = True, None, None

    def was_finished(self, now: datetime, reason: str, accounts: Iterable[Account]) -> None:
        last = max((one.last or one.scheduled_for for one in accounts), default=self.begin)
        self._end(max(last, self.begin) if reason == "max_runs" else now, False)
        self.state, self.planned = "finished", True

    def check(self, accounts: list[Account], waiting: Account | None, *, eras: int = 1) -> None:
        """Raises AssertionError where an instant of the latest ``eras`` has no account, or two."""
        for era in self.eras[-eras:]:
            _check_era(era, self.anchor, accounts, None)
        if self.planned and self.state == "active":
            era = Era(spec=self.spec, begin=self.begin, before=self.before)
            _check_era(era, self.anchor, accounts, waiting)

    def _end(self, now: datetime, raced: bool) -> None:
        era = Era(spec=self.spec, begin=self.begin, end=now, raced=raced, before=self.before)
        self.eras.append(era)
        self.before = frozenset()


def _later(accounts: Iterable[Account], begin: datetime) -> frozenset[UUID]:
    return frozenset(one.id for one in accounts if one.scheduled_for > begin)


def _check_era(era: Era, anchor: datetime, accounts: list[Account], waiting: Account | None) -> None:
    end = waiting.scheduled_for if waiting else era.end
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
