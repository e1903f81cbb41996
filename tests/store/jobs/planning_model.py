"""What planning owes each job: the account that the database must have of each of its instants.

A job's life is a list of eras, in each of which it has one schedule. A row belongs to the era in which it was seen
first. The rows of an era account for each of its instants up to some moment exactly once: a live row, a row of history,
or a place in one skipped range. That moment is the instant of the row that carries the job on, as long as there is
one; from an edit, a pause, or the cancellation of that row on it stays where it is until the job is planned again.
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
    """A row of the database that tells what became of one instant of a job, or of several."""

    id: UUID
    scheduled_for: datetime
    last: datetime | None = None
    instants: int | None = None
    status: str = "live"
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class Era:
    """Instants later than ``begin``, and those not later than ``end`` are owed; no end is known while it lasts.

    ``taken`` are instants that earlier eras have a row for, claimed ahead of them; ``given_up`` those that somebody
    cancelled ahead, which no schedule has any more. ``lost_to`` is the last instant whose row was cancelled in it.
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
        """Raises AssertionError where an instant not later than ``until`` has no account, or any has two."""
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
        """The instants without account. Raises AssertionError where one has two."""
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
    """One job. ``told_to`` is up to when its instants have their account while no row carries it on, else None;
    ``floor`` what an edit leaves of it where the schedule lacks the instant of the row that is held."""

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
        """Its instants are the same, and so is what they have."""
        self.era.spec = spec
        self.overlaps.add(spec.overlap)
        self.runs = 0

    def was_edited(
        self, now: datetime, spec: Spec, accounts: list[Account], reach: datetime, held: Account | None, most: int
    ) -> None:
        """A row that is ``held`` goes on where the new schedule has its instant, and the job had fewer runs than
        ``most``."""
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
        """It was told something while its row was claimed, and nothing carries it on."""
        self.told_to = self._stopped(reach)

    def was_paused(self, reach: datetime, held: Account | None) -> None:
        """A row that is held stands for all that has passed."""
        stopped = self._stopped(reach)
        self.floor, self.state = self.floor or stopped, "paused"
        self.told_to = stopped if held is None else min(stopped, held.scheduled_for)

    def was_cancelled(self, now: datetime) -> None:
        if self.state != "finished":
            self.era.end = self.told_to or now
        self.state, self.told_to = "cancelled", None

    def lost_its_row(self, at: datetime) -> None:
        """Its waiting row was cancelled: what follows that instant is still to be planned."""
        self.told_to = self.era.lost_to = at

    def was_finished(self, reason: str, accounts: list[Account]) -> None:
        self.era.end = self.era.spec.ends_at
        if reason == "max_runs" or self.era.end is None:
            ends = [one.last or one.scheduled_for for one in self.era.own(accounts)]
            self.era.end = max([self.era.begin, *ends])
        self.state, self.told_to = "finished", None

    def check(self, accounts: list[Account], waiting: datetime | None, *, eras: int) -> None:
        """Raises AssertionError where an instant of the latest ``eras`` has no account, or two."""
        for era in self.eras[:-1][-eras:]:
            assert era.end is not None
            era.check(accounts, era.end)
        until = waiting or self.told_to or self.era.end
        if until is not None:
            self.era.check(accounts, until)
        if waiting is not None:
            late = [one for one in self.era.own(accounts) if (one.last or one.scheduled_for) > waiting]
            assert not late, f"{late} is later than the row that carries the job on: {self.era}"

    def _stopped(self, reach: datetime) -> datetime:
        return self.told_to or max(reach, self.era.lost_to or reach)
