"""Planning at random, against an account kept apart from it: never two rows for one instant, never a missing one.

Two planners and twenty claimers share a database whose clock the test sets. PGSCHED_STEPS says how many steps are
taken, PGSCHED_SEED draws others than the usual ones, and PGSCHED_SHRINK looks for fewer that fail.
"""

import asyncio
import os
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from psycopg.types.json import Jsonb

from pgsched.domain.execution import Execution
from pgsched.store import connect, jobs
from pgsched.store.wire import to_datetime
from tests.store.planning_instants import POLICIES, SCHEDULES, STARTS, Spec
from tests.store.planning_model import Account, JobModel
from tests.store.planning_world import Job, Live, World, own_clock
from tests.store.store_arrange import value

STEPS = int(os.environ.get("PGSCHED_STEPS", "10000"))
LENGTH = int(os.environ.get("PGSCHED_LENGTH", "100"))
KEYS = ["one", "two", "three", "four"]
_claimers = st.integers(1, 20)
_keys = st.sampled_from(KEYS)
_leaps = st.sampled_from([0.001, 0.3, 1, 20, 61, 400, 1300, 3600, 11_000, 40_000, 100_000]).map(
    lambda seconds: timedelta(seconds=seconds)
)
_schedules = st.sampled_from(SCHEDULES)
_policies = st.sampled_from(POLICIES)
_bounds = st.sampled_from([(None, None)] * 5 + [(7200, None), (None, 200_000), (3600, 300_000)])
_leases = st.sampled_from([timedelta(seconds=30), timedelta(hours=6)])
_aheads = st.sampled_from([timedelta(0), timedelta(0), timedelta(seconds=0.5)])
_batches = st.sampled_from([1, 2, 100])


@st.composite
def _specs(draw: st.DrawFn) -> tuple[Any, ...]:
    return draw(_schedules), draw(_policies), draw(_bounds)


class Planning(RuleBasedStateMachine):
    """What may happen to some jobs, one thing after the other or two at once."""

    loop: asyncio.AbstractEventLoop
    world: World
    taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[str, JobModel] = {}
        self.gone: dict[UUID, JobModel] = {}
        self.triggered: set[UUID] = set()
        self.homes: list[int] = []
        self.last_run: dict[tuple[UUID, int], int] = {}
        self.raced: set[UUID] = set()
        self.steps = 0

    @initialize(start=st.sampled_from(STARTS), specs=st.lists(_specs(), min_size=2, max_size=3))
    def begin(self, start: Any, specs: list[Any]) -> None:
        self.world.clear(start)
        for key, drawn in zip(KEYS, specs, strict=False):
            self._schedule(key, drawn)
        self._now(self.world.plan(0))

    # What happens

    @rule(leap=_leaps, micros=st.integers(0, 999_999))
    def time_passes(self, leap: timedelta, micros: int) -> None:
        if self.world.now < STARTS[1] + timedelta(days=30):
            self.world.travel_to(self.world.now + leap + timedelta(microseconds=micros if leap.seconds else 0))

    @rule(planner=st.integers(0, 1))
    def a_planner_has_its_turn(self, planner: int) -> None:
        self._now(self.world.plan(planner))

    @rule(claimer=_claimers, batch=_batches, lease=_leases, ahead=_aheads)
    def one_claims(self, claimer: int, batch: int, lease: timedelta, ahead: timedelta) -> None:
        self._now(self._claim(claimer, batch, lease, ahead))

    @rule(claimer=_claimers, lease=_leases, leap=_leaps)
    def one_claims_later(self, claimer: int, lease: timedelta, leap: timedelta) -> None:
        self.time_passes(leap, 0)
        self._now(self._claim(claimer, 100, lease, timedelta(0)))

    @rule(claimers=st.tuples(_claimers, _claimers), batch=_batches, lease=_leases)
    def two_claim_at_once(self, claimers: tuple[int, int], batch: int, lease: timedelta) -> None:
        one, other = claimers
        if one % 4 != other % 4:
            self._now(*(self._claim(claimer, batch, lease, timedelta(0)) for claimer in claimers))

    @rule(claimer=_claimers, planner=st.integers(0, 1), lease=_leases)
    def a_claim_and_a_plan_at_once(self, claimer: int, planner: int, lease: timedelta) -> None:
        self._now(
            self.world.plan(planner), self._claim(claimer, 100, lease, timedelta(0)), self.world.plan(1 - planner)
        )

    @rule(how=st.sampled_from(["succeed", "succeed", "fail", "retry", "release"]), data=st.data())
    def one_settles(self, how: str, data: st.DataObject) -> None:
        if self.world.in_hand:
            self._now(self.world.settle(data.draw(st.sampled_from(sorted(self.world.in_hand))), how))

    @rule()
    def all_succeed(self) -> None:
        for claimer in list(self.world.in_hand):
            self._now(self.world.settle(claimer, "succeed"))

    @rule(owner=_claimers)
    def one_is_lost(self, owner: int) -> None:
        self._now(self.world.reap(self.homes, [owner]))

    @rule()
    def what_waited_is_released(self) -> None:
        self._now(self.world.release())

    @rule(key=_keys)
    def one_is_paused(self, key: str) -> None:
        self._change("select pgsched.pause(%s)", key)

    @rule(key=_keys)
    def one_is_resumed(self, key: str) -> None:
        self._change("select pgsched.resume(%s)", key)

    @rule(key=_keys, drawn=_specs())
    def one_is_edited(self, key: str, drawn: tuple[Any, ...]) -> None:
        self._schedule(key, drawn)

    @rule(key=_keys, policy=_policies)
    def one_is_told_otherwise(self, key: str, policy: dict[str, Any]) -> None:
        model = self.models.get(key)
        if model is None or model.spec.after_completion:
            return
        spec = self._bounded(model.spec.told(policy))
        if value(self.world.db, "select pgsched.edit(%s, %s)", [model.id, Jsonb({"rules": spec.rules()})]):
            if model.planned:
                model.was_told(spec)
            else:
                model.was_edited(self.world.now, spec, self._accounts_of(model))

    @rule(key=_keys)
    def one_is_triggered(self, key: str) -> None:
        if model := self.models.get(key):
            self.world.travel_to(self.world.now + timedelta(milliseconds=1))
            self.triggered.add(value(self.world.db, "select pgsched.trigger(%s)", [model.id]))

    @rule(key=_keys, unlikely=st.integers(0, 3))
    def one_is_cancelled(self, key: str, unlikely: int) -> None:
        if unlikely == 0:
            self._change("select pgsched.cancel(%s::uuid)", key)

    @rule(key=_keys)
    def its_waiting_row_is_cancelled(self, key: str) -> None:
        model = self.models.get(key)
        row = model and self._carrying(model)
        if model and row:
            value(self.world.db, "select pgsched.cancel(%s::uuid)", [row.id])
            model.lost_its_row(row.scheduled_for or self.world.now)

    @rule(key=_keys, claimer=_claimers, query=st.sampled_from(["pause", "cancel"]))
    def one_is_changed_while_it_is_claimed(self, key: str, claimer: int, query: str) -> None:
        claim = self._claim(claimer, 100, timedelta(hours=6), timedelta(0))
        text = "select pgsched.pause(%s)" if query == "pause" else "select pgsched.cancel(%s::uuid)"
        if not self._change(text, key, claim):
            claim.close()

    @rule()
    def the_sweep_finds_nothing(self) -> None:
        assert self._now(jobs.repair_jobs(self.world.planners[0])) == [0]

    # What must hold

    @invariant()
    def each_instant_has_its_account(self) -> None:
        if not self.models:
            return
        self.steps += 1
        type(self).taken += 1
        self._check(eras=1)

    def teardown(self) -> None:
        if self.models:
            self._catch_up()
            self._check(eras=1000)

    def _catch_up(self) -> None:
        """All that is due is claimed and ends, as far as patience reaches."""
        for _ in range(12):
            self._now(self.world.plan(0))
            rows = self._now(self._claim(1, 100, timedelta(hours=6), timedelta(0)))[0]
            for claimer in list(self.world.in_hand):
                self._now(self.world.settle(claimer, "succeed"))
            self._now(self.world.release())
            self.world.travel_to(self.world.now + timedelta(milliseconds=1))
            if not rows:
                break

    def _check(self, *, eras: int) -> None:
        self.world.read_ended()
        found, live = self.world.jobs(), self.world.live()
        accounts = self._accounts(live)
        for model in [*self.models.values(), *self.gone.values()]:
            job, rows = found[model.id], live.get(model.id, [])
            self._follow(model, job, accounts[model.id])
            carrying = [row for row in rows if row.plan == job.revision and row.attempt == 0]
            active = job.state == "active" and job.planned
            assert len(carrying) == active, f"{job}: {rows}"
            waiting = carrying[0] if carrying else None
            account = None
            if waiting and waiting.scheduled_for:
                account = Account(id=waiting.id, scheduled_for=waiting.scheduled_for)
            model.check(accounts[model.id], account, eras=eras)
            self._check_overlap(model, rows)

    def _follow(self, model: JobModel, job: Job, accounts: list[Account]) -> None:
        if model.state == "active" and job.planned and not model.planned:
            model.was_planned()
        if model.state == "active" and job.state == "finished":
            assert job.reason in {"max_runs", "no instant is left"}
            model.was_finished(self.world.now, job.reason, accounts)
        assert job.state == model.state, f"{job}: {model}"
        assert job.planned == model.planned or model.state != "active", f"{job}: {model}"

    def _check_overlap(self, model: JobModel, rows: list[Live]) -> None:
        if "allow" in model.overlaps:
            return
        running = [row for row in rows if row.in_hand and row.id not in self.triggered]
        assert len(running) <= 1, f"{running} overlap: {model}"

    def _accounts(self, live: dict[UUID, list[Live]]) -> dict[UUID, list[Account]]:
        found: dict[UUID, list[Account]] = {model.id: [] for model in [*self.models.values(), *self.gone.values()]}
        for id, (job, account) in self.world.ended.items():
            if id not in self.triggered:
                found[job].append(account)
        for job, rows in live.items():
            for row in rows:
                assert row.id not in self.world.ended, f"{row} has ended, and lives"
                if row.id not in self.triggered and row.scheduled_for:
                    found[job].append(Account(id=row.id, scheduled_for=row.scheduled_for))
        return found

    # How it is done

    def _now(self, *work: Coroutine[Any, Any, Any]) -> list[Any]:
        async def together() -> list[Any]:
            return await asyncio.gather(*work, return_exceptions=True)

        answers = self.loop.run_until_complete(together())
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    async def _claim(self, claimer: int, batch: int, lease: timedelta, ahead: timedelta) -> list[Execution]:
        rows = await self.world.claim(claimer, self.homes, batch=batch, lease=lease, ahead=ahead)
        for row in rows:
            if row.plan and row.attempt == 1:
                self._has_begun(row)
        return rows

    def _has_begun(self, row: Execution) -> None:
        job = UUID(bytes=row.job_id or b"")
        last = self.last_run.get((job, row.plan or 0))
        assert last is None or last < row.scheduled_for, f"{to_datetime(row.scheduled_for)} runs out of order"
        self.last_run[job, row.plan or 0] = row.scheduled_for

    def _schedule(self, key: str, drawn: tuple[Any, ...]) -> None:
        schedule, policy, (starts, ends) = drawn
        now = self.world.now
        spec = self._bounded(
            Spec(
                schedule=SCHEDULES[0] if "after_completion" in policy else schedule,
                policy=policy,
                starts_at=None if starts is None else now + timedelta(seconds=starts),
                ends_at=None if ends is None else now + timedelta(seconds=ends),
            )
        )
        id, model = self.world.schedule(key, spec), self.models.get(key)
        if model is None:
            anchor = value(self.world.db, "select anchor from pgsched.jobs where id = %s", [id])
            self.models[key] = JobModel(id=id, anchor=anchor, spec=spec, accounted=now, changed=now)
            home = value(self.world.db, "select pgsched.partition_of(j) from pgsched.jobs j where id = %s", [id])
            self.homes = sorted({*self.homes, home})
        else:
            assert id == model.id
            model.was_edited(now, spec, self._accounts_of(model))

    def _bounded(self, spec: Spec) -> Spec:
        """Without hundreds of runs to be made up for one after the other."""
        if spec.policy.get("on_missed") != "all" or spec.schedule.sparse:
            return spec
        return replace(spec, policy=spec.policy | {"catch_up": "20m"})

    def _accounts_of(self, model: JobModel) -> list[Account]:
        self.world.read_ended()
        return self._accounts(self.world.live())[model.id]

    def _change(self, query: str, key: str, beside: Coroutine[Any, Any, Any] | None = None) -> bool:
        """Pauses, resumes or cancels a job, perhaps while something else is going on."""
        model = self.models.get(key)
        if model is None:
            return False
        changed = self._now(self.world.call(query, model.id), *([beside] if beside else []))[0]
        accounts = self._accounts_of(model)
        if changed and "pause" in query:
            model.was_paused(self.world.now, accounts, raced=beside is not None)
        elif changed and "resume" in query:
            model.was_resumed(self.world.now)
        elif changed:
            model.was_cancelled(self.world.now, raced=beside is not None)
            self.gone[model.id] = self.models.pop(key)
        return True

    def _carrying(self, model: JobModel) -> Live | None:
        found = self.world.jobs()[model.id]
        rows = self.world.live().get(model.id, [])
        if found.state != "active" or not found.planned:
            return None
        return next((row for row in rows if row.plan == found.revision and row.attempt == 0), None)


@pytest.fixture
def planning(store_url: str) -> Iterator[type[Planning]]:
    """The machine, in a database of this test's own."""
    loop = asyncio.new_event_loop()
    with own_clock(store_url), psycopg.connect(store_url, autocommit=True) as db:
        hands = [loop.run_until_complete(connect.connect(store_url, "claim")) for _ in range(4)]
        planners = [loop.run_until_complete(connect.connect(store_url, "plan", raw=False)) for _ in range(3)]
        Planning.loop, Planning.world, Planning.taken = loop, World(db, hands, planners), 0
        yield Planning
        for connection in [*hands, *planners]:
            loop.run_until_complete(connection.close())
    loop.close()


def test_no_instant_has_two_rows_and_none_is_without_account(planning: type[Planning]) -> None:
    chosen = settings(
        max_examples=STEPS * 3 // (2 * LENGTH) + 1,
        stateful_step_count=LENGTH,
        deadline=None,
        database=None,
        derandomize="PGSCHED_SEED" not in os.environ,
        phases=[Phase.generate, Phase.shrink] if "PGSCHED_SHRINK" in os.environ else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    if "PGSCHED_SEED" in os.environ:
        seed(int(os.environ["PGSCHED_SEED"]))(planning)
    run_state_machine_as_test(planning, settings=chosen)
    assert planning.taken >= STEPS
