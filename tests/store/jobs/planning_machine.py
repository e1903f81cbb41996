"""A state machine that changes jobs at random and checks after each step that every instant is accounted for."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import coroutine
from typing import Any, LiteralString
from uuid import UUID

from hypothesis.stateful import RuleBasedStateMachine, invariant

from pgsched.domain.execution import ClaimedExecution
from pgsched.store.core.wire import to_datetime
from tests.store.jobs.planning_instants import SCHEDULES, STARTS, Spec
from tests.store.jobs.planning_model import Account, Era, JobModel
from tests.store.jobs.planning_world import Job, Live, World
from tests.store.store_arrange import value

Work = Coroutine[Any, Any, Any]
LAST = STARTS[1] + timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Halted:
    """A claim that halts after this many answers of the database, so that a change can come in the middle of it.

    ``instant`` is that of the waiting row that it may find.
    """

    claim: Work
    after: int
    instant: datetime | None


class Followed(RuleBasedStateMachine):
    """Jobs by key, each with its model. ``gone`` has cancelled jobs, which have lost their key."""

    loop: asyncio.AbstractEventLoop
    world: World
    taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[str, JobModel] = {}
        self.gone: dict[UUID, JobModel] = {}
        self.triggered: set[UUID] = set()
        self.homes: list[int] = []
        self.begun: list[ClaimedExecution] = []
        self.last_run: dict[tuple[UUID, int], int] = {}

    @invariant()
    def each_instant_has_its_account(self) -> None:
        if not self.models:
            return
        type(self).taken += 1
        self._check(eras=1)

    def teardown(self) -> None:
        if self.models:
            self._catch_up()
            self._check(eras=1000)

    def _catch_up(self) -> None:
        """Claim and settle everything that is due, in a limited number of rounds."""
        for _ in range(12):
            self.now(self.world.plan(0))
            rows = self.now(self.claim(1, 100, timedelta(hours=6), timedelta(0)))[0]
            for claimer in list(self.world.in_hand):
                self.now(self.world.settle(claimer, "succeed"))
            self.now(self.world.release())
            self.world.travel_to(self.world.now + timedelta(milliseconds=1))
            if not rows:
                break

    def _check(self, *, eras: int) -> None:
        accounts = self.look()
        for model in self._all():
            job, rows = self.found[model.id], self.live.get(model.id, [])
            self._follow(model, job, accounts[model.id])
            carrying = [row for row in rows if row.plan == job.revision and row.attempt == 0]
            assert len(carrying) == (job.state == "active" and job.planned), f"{job}: {rows}"
            model.check(accounts[model.id], carrying[0].scheduled_for if carrying else None, eras=eras)
            self._check_overlap(model, rows)

    def _all(self) -> list[JobModel]:
        return [*self.models.values(), *self.gone.values()]

    def _follow(self, model: JobModel, job: Job, accounts: list[Account]) -> None:
        if model.state == "active" and job.planned:
            model.told_to = model.floor = None
        if model.state == "active" and job.state == "finished":
            assert job.reason in {"max_runs", "no further instants"}
            model.was_finished(job.reason, accounts)
        assert job.state == model.state, f"{job}: {model}"
        assert job.planned or model.told_to is not None or model.state in {"finished", "cancelled"}, f"{job}: {model}"

    def _check_overlap(self, model: JobModel, rows: list[Live]) -> None:
        if "allow" in model.overlaps:
            return
        running = [row for row in rows if row.in_hand and row.id not in self.triggered]
        assert len(running) <= 1, f"{running} overlap: {model}"

    def look(self) -> dict[UUID, list[Account]]:
        """Return the current accounts of each job. New rows belong to the current schedule of their job."""
        self.found, self.live = self.world.look()
        accounts: dict[UUID, list[Account]] = {model.id: [] for model in self._all()}
        for id, (job, account) in self.world.ended.items():
            if id not in self.triggered:
                accounts[job].append(account)
        for job, rows in self.live.items():
            for row in rows:
                assert row.id not in self.world.ended, f"{row} has ended and is still live"
                if row.id not in self.triggered and row.scheduled_for:
                    accounts[job].append(Account(id=row.id, scheduled_for=row.scheduled_for))
        for model in self._all():
            model.saw({row.id for row in self.live.get(model.id, [])} | {one.id for one in accounts[model.id]})
        return accounts

    def plan(self) -> None:
        """Let a planner take a turn before anything else happens."""
        self.now(self.world.plan(0))
        self._check(eras=1)

    def later(self, at: datetime) -> None:
        if self.world.now < at < LAST:
            self.world.travel_to(at)

    def now(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        async def together() -> list[Any]:
            return await asyncio.gather(*work, return_exceptions=True)

        self.world.has_changed()
        answers = self.loop.run_until_complete(together())
        for row in sorted(self.begun, key=lambda row: row.scheduled_for):
            self._has_begun(row)
        self.begun = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def claim_overdue(self, key: str, claimer: int, delay: timedelta, after: int) -> Halted:
        """Prepare a claim, to be halted, that finds a job's waiting row overdue."""
        self.plan()
        instant = row.scheduled_for if (row := self.carrying(self.models[key])) else None
        if instant:
            self.later(instant + delay)
        return Halted(self.claim(claimer, 100, timedelta(hours=6), timedelta(0)), after, instant)

    def make(self, change: Work, amid: Halted | None) -> Any:
        """Return what a change answers. If ``amid`` is given, the change comes in the middle of that claim."""
        return self.now(change if amid is None else self._make(change, amid))[0]

    async def _make(self, change: Work, amid: Halted) -> Any:
        made = list[asyncio.Future[Any]]()

        async def begin() -> None:
            made.append(asyncio.ensure_future(change))
            while not made[0].done() and not self.world.is_blocked():  # noqa: ASYNC110 - only the database knows
                await asyncio.sleep(0)

        await _halting(amid.claim, amid.after, begin)
        return await (made[0] if made else change)

    async def claim(self, claimer: int, batch: int, lease: timedelta, ahead: timedelta) -> list[ClaimedExecution]:
        rows = await self.world.claim(claimer, self.homes, batch=batch, lease=lease, ahead=ahead)
        self.begun += [row for row in rows if (row.plan or 0) > 0 and row.attempt == 1]  # excludes rows claimed again
        return rows

    def _has_begun(self, row: ClaimedExecution) -> None:
        job = UUID(bytes=row.job_id or b"")
        last = self.last_run.get((job, row.plan or 0))
        assert last is None or last < row.scheduled_for, f"{to_datetime(row.scheduled_for)} runs out of order"
        self.last_run[job, row.plan or 0] = row.scheduled_for
        next(model for model in self._all() if model.id == job).has_begun()

    def schedule(self, key: str, drawn: tuple[Any, ...], amid: Halted | None = None) -> None:
        schedule, policy, (starts, ends) = drawn
        now = self.world.now
        spec = self.bounded(
            Spec(
                schedule=SCHEDULES[0] if "after_completion" in policy else schedule,
                policy=policy,
                starts_at=None if starts is None else now + timedelta(seconds=starts),
                ends_at=None if ends is None else now + timedelta(seconds=ends),
            )
        )
        self.schedule_as(key, spec, amid)

    def schedule_as(self, key: str, spec: Spec, amid: Halted | None = None) -> None:
        id = self.make(self.world.schedule(key, spec), amid)
        model, now = self.models.get(key), self.world.now
        if model is None:
            anchor = value(self.world.db, "select anchor from pgsched.jobs where id = %s", [id])
            era = Era(spec=spec, anchor=anchor, begin=now)
            self.models[key] = JobModel(id=id, eras=[era], told_to=now, overlaps={spec.overlap})
            home = value(
                self.world.db, "select pgsched_internal.partition_of(j) from pgsched.jobs j where id = %s", [id]
            )
            self.homes = sorted({*self.homes, home})
            return
        assert id == model.id
        accounts = self.look()[id]
        if model.state != "finished" and spec.fires_as(model.spec):
            model.was_told(spec)
            if amid and not self.found[id].planned:
                model.was_passed_over(self._reach(model, amid))
        else:
            held = self._withdrawn(model)
            model.was_edited(now, spec, accounts, self._reach(model, amid), held, self.found[id].runs)

    def _withdrawn(self, model: JobModel) -> Account | None:
        """Return the row that is held until the job is planned again."""
        revision = self.found[model.id].revision
        for row in self.live.get(model.id, []):
            if row.held and 0 < (row.plan or 0) < revision and not (row.attempt or row.in_hand):
                assert row.scheduled_for is not None
                return Account(id=row.id, scheduled_for=row.scheduled_for)
        return None

    def bounded(self, spec: Spec) -> Spec:
        """Limit the catch-up, so that there are not hundreds of missed runs to make up for."""
        if spec.policy.get("on_missed") != "all" or spec.schedule.sparse:
            return spec
        return replace(spec, policy=spec.policy | {"catch_up": "20m"})

    def change(self, query: LiteralString, key: str, amid: Halted | None = None) -> None:
        """Pause, resume or cancel a job, in the middle of a claim if one is given."""
        model = self.models[key]
        changed = self.make(self.world.call(query, model.id), amid)
        accounts = self.look()[model.id]
        if changed and "pause" in query:
            model.was_paused(self._reach(model, amid), self._withdrawn(model))
        elif changed and "resume" in query:
            model.state = "active"
        elif changed:
            if model.state == "active" and (reason := self.found[model.id].reason):
                model.was_finished(reason, accounts)
            model.was_cancelled(self.world.now)
            self.gone[model.id] = self.models.pop(key)

    def _reach(self, model: JobModel, amid: Halted | None) -> datetime:
        """Up to when a job's instants are accounted for after a change: now, or the row that a claim had by then."""
        told = self.found[model.id].accounted_to
        return told if amid and told == amid.instant else self.world.now

    def lose_row(self, key: str, amid: Halted | None = None) -> None:
        """Cancel a job's waiting row."""
        model = self.models[key]
        row = self.carrying(model)
        if row is None:
            self.now(*([amid.claim] if amid else []))
            return
        changed = self.make(self.world.call("select pgsched.cancel(%s::uuid)", row.id), amid)
        self.look()
        if changed:
            model.lost_its_row(row.scheduled_for or self.world.now)

    def carrying(self, model: JobModel) -> Live | None:
        """Return a job's waiting row."""
        self.look()
        job = self.found[model.id]
        if job.state != "active" or not job.planned:
            return None
        rows = self.live.get(model.id, [])
        return next((row for row in rows if row.plan == job.revision and row.attempt == 0), None)


@coroutine
def _halting(work: Work, after: int, then: Callable[[], Work]) -> Generator[Any, Any, Any]:
    """Await some work, and something else in the middle of it."""
    try:
        awaited = work.send(None)
        while True:
            yield awaited
            after -= 1
            if after == 0:
                yield from then().__await__()
            awaited = work.send(None)
    except StopIteration as end:
        return end.value
