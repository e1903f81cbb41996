"""A model of what planning must guarantee: that the database accounts for each instant of each job.

A job's life is a list of eras, in each of which it has one schedule. A row belongs to the era in which it was first
seen. The rows of an era account for each of its instants up to some moment exactly once: by a live row, a row of
history, or a place in one skipped range. That moment is the instant of the job's waiting row, as long as there is one.
After an edit, a pause, or the cancellation of that row, the moment does not move until the job is planned again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from tests.store.jobs.planning_instants import Spec

_TICK = timedelta(microseconds=1)
_STANDING = {"replaced", "edited", "paused", "job cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A row of the database that accounts for one or several instants of a job."""

    id: UUID
    scheduled_for: datetime
    last: datetime | None = None
    instants: int | None = None
    status: str = "live"
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class Era:
    """The time in which a job has one schedule. Instants later than ``begin`` and not later than ``end`` must be
    accounted for. The current era has no end.

    ``taken`` are instants for which an earlier era has a row that was claimed ahead. ``given_up`` are instants whose
    rows were cancelled ahead, which no schedule has any longer. ``lost_to`` is the last instant whose row was
    cancelled in this era.
    """

    spec: Spec
    anchor: datetime
    begin: datetime
    end: datetime | None = None
    taken: frozenset[datetime] = frozenset()
    given_up: frozenset[datetime] = frozenset()
    lost_to: datetime | None = None
    rows: set[UUID] = field(default_factory=set)
    _instants: list[datetime] = field(default_factory=list)
    _told_to: datetime | None = None

    def own(self, accounts: Iterable[Account]) -> list[Account]:
        return [one for one in accounts if one.id in self.rows]

    def instants(self, until: datetime) -> list[datetime]:
        begin = self._told_to or self.begin
        if until > begin:
            self._instants += [at for at in self.spec.instants(self.anchor, begin, until) if at not in self.given_up]
            self._told_to = until
        return self._instants[: bisect_right(self._instants, until)]

    def check(self, accounts: Iterable[Account], until: datetime) -> None:
        """Raise AssertionError if an instant not later than ``until`` has no account, or any instant has two."""
        if self.spec.after_completion:
            return
        own = self.own(accounts)
        instants = self.instants(max([until, *(one.last or one.scheduled_for for one in own)]))
        missing = self._missing(own, instants)
        owed = [at for at in missing if at <= until and at not in self.taken]
        assert not owed, f"{len(owed)} without account: {owed[:3]}: {self} to {until}: {own[-3:]}"
        twice = self.taken.intersection(instants).difference(missing)
        assert not twice, f"{twice} had rows before: {self}: {own[-3:]}"

    def _missing(self, own: Iterable[Account], instants: list[datetime]) -> list[datetime]:
        """Return the instants without an account. Raises AssertionError if one has two."""
        missing, told = list[datetime](), 0
        for one in sorted(own, key=lambda one: one.scheduled_for):
            low, high = self._places(one, instants)
            assert low >= told, f"{instants[low]} has two accounts: {self}: {one}"
            missing += instants[told:low]
            told = high
        return missing + instants[told:]

    def _places(self, one: Account, instants: list[datetime]) -> tuple[int, int]:
        low = bisect_left(instants, one.scheduled_for)
        assert instants[low : low + 1] == [one.scheduled_for], f"{one} is for no instant: {self}"
        if one.last is None:
            return low, low + 1
        high = bisect_right(instants, one.last)
        if one.instants is None:
            assert one.reason in _STANDING, one
        else:
            assert high - low == one.instants, f"{one} should count {high - low}: {self}"
            assert instants[high - 1] == one.last, f"{one} ends with no instant: {self}"
        return low, high

    def __str__(self) -> str:
        return f"{self.spec.schedule.given} {self.spec.rules()} from {self.begin} to {self.end}"


@dataclass(slots=True, kw_only=True)
class JobModel:
    """One job. ``told_to`` is up to when its instants are accounted for while it has no waiting row, else None.
    ``floor`` is that moment after an edit whose schedule lacks the instant of the held row."""

    id: UUID
    eras: list[Era]
    told_to: datetime | None
    floor: datetime | None = None
    state: str = "active"
    runs: int = 0
    seen: set[UUID] = field(default_factory=set)
    overlaps: set[str] = field(default_factory=set)

    @property
    def era(self) -> Era:
        return self.eras[-1]

    @property
    def spec(self) -> Spec:
        return self.era.spec

    def saw(self, rows: set[UUID]) -> None:
        new = rows - self.seen
        self.era.rows |= new
        self.seen |= new

    def has_begun(self) -> None:
        self.runs += 1
        most = self.spec.policy.get("max_runs")
        assert most is None or self.runs <= most, f"run {self.runs} of {self}"

    def was_told(self, spec: Spec) -> None:
        """An edit kept its instants, and so their accounts."""
        self.era.spec = spec
        self.overlaps.add(spec.overlap)
        self.runs = 0

    def was_edited(
        self, now: datetime, spec: Spec, accounts: list[Account], reach: datetime, held: Account | None, most: int
    ) -> None:
        """An edit changed its instants. The ``held`` row stays if the new schedule has its instant and allows more than
        ``most`` runs."""
        begin = now
        if self.state != "finished":
            self.era.end = self._stopped(reach)
            begin = self.floor = self.floor or min(now, self.era.end)
        rows = set[UUID]()
        if held is not None:
            self.era.end, at = held.scheduled_for, held.scheduled_for
            if at in spec.instants(self.era.anchor, at - _TICK, at) and spec.policy.get("max_runs", most + 1) > most:
                begin = at - _TICK
                rows.add(held.id)
                for era in self.eras:
                    era.end = min(era.end or begin, begin)
                    era.rows.discard(held.id)
        ahead = [one for one in accounts if one.scheduled_for > begin and one.id not in rows]
        given_up = frozenset(one.scheduled_for for one in ahead if one.status == "cancelled")
        taken = frozenset(one.scheduled_for for one in ahead) - given_up
        self.eras.append(Era(spec=spec, anchor=self.era.anchor, begin=begin, taken=taken, given_up=given_up, rows=rows))
        self.state = "active" if self.state == "finished" else self.state
        self.told_to, self.runs = begin, 0
        self.overlaps.add(spec.overlap)

    def was_passed_over(self, reach: datetime) -> None:
        """It was edited while its row was claimed, and has no waiting row."""
        self.told_to = self._stopped(reach)

    def was_paused(self, reach: datetime, held: Account | None) -> None:
        """It was paused. A held row accounts for all instants that have passed."""
        stopped = self._stopped(reach)
        self.floor, self.state = self.floor or stopped, "paused"
        self.told_to = stopped if held is None else min(stopped, held.scheduled_for)

    def was_cancelled(self, now: datetime) -> None:
        if self.state != "finished":
            self.era.end = self.told_to or now
        self.state, self.told_to = "cancelled", None

    def lost_its_row(self, at: datetime) -> None:
        """Its waiting row was cancelled. The instants after it are still to be planned."""
        self.told_to = self.era.lost_to = at

    def was_finished(self, reason: str, accounts: list[Account]) -> None:
        self.era.end = self.era.spec.ends_at
        if reason == "max_runs" or self.era.end is None:
            ends = [one.last or one.scheduled_for for one in self.era.own(accounts)]
            self.era.end = max([self.era.begin, *ends])
        self.state, self.told_to = "finished", None

    def check(self, accounts: list[Account], waiting: datetime | None, *, eras: int) -> None:
        """Raise AssertionError if an instant of the latest ``eras`` has no account, or two."""
        for era in self.eras[:-1][-eras:]:
            assert era.end is not None
            era.check(accounts, era.end)
        until = waiting or self.told_to or self.era.end
        if until is not None:
            self.era.check(accounts, until)
        if waiting is not None:
            late = [one for one in self.era.own(accounts) if (one.last or one.scheduled_for) > waiting]
            assert not late, f"{late} is later than the waiting row: {self.era}"

    def _stopped(self, reach: datetime) -> datetime:
        return self.told_to or max(reach, self.era.lost_to or reach)
