"""Random planning, checked against an independent model: no instant has two rows, and none is missing.

Two planners and twenty claimers share a database whose clock the test sets. Jobs are changed between claims and during
them. PGSCHED_STEPS is the number of steps (1000 by default), PGSCHED_SEED selects other random steps, and
PGSCHED_SHRINK reduces a failing example.
"""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test
from psycopg.types.json import Jsonb

from pgsched.store.core import connect
from pgsched.store.jobs import unplanned_jobs
from tests.store.jobs.planning_instants import POLICIES, SCHEDULES, STARTS
from tests.store.jobs.planning_machine import Followed
from tests.store.jobs.planning_world import World, own_clock

STEPS = int(os.environ.get("PGSCHED_STEPS", "1000"))
SEED = int(os.environ.get("PGSCHED_SEED", "0"))
LENGTH = int(os.environ.get("PGSCHED_LENGTH", "100"))
KEYS = ["one", "two", "three", "four"]
_claimers = st.integers(1, 20)
_keys = st.sampled_from(KEYS)
_leaps = st.sampled_from([0.001, 0.3, 1, 20, 61, 400, 1300, 3600, 11_000, 40_000, 100_000]).map(
    lambda seconds: timedelta(seconds=seconds)
)
_delays = st.sampled_from([0.001, 1300, 11_000, 40_000]).map(lambda seconds: timedelta(seconds=seconds))
_schedules = st.sampled_from(SCHEDULES)
_policies = st.sampled_from(POLICIES)
_bounds = st.sampled_from([(None, None)] * 5 + [(7200, None), (None, 200_000), (3600, 300_000)])
_leases = st.sampled_from([timedelta(seconds=30), timedelta(hours=6)])
_aheads = st.sampled_from([timedelta(0), timedelta(0), timedelta(seconds=0.5)])
_halts = st.sampled_from([1, 2, 2, 2, 3, 3, 3, 4, 5, 6])  # after about three answers, rows are locked but jobs are not
_claims = st.tuples(_claimers, _delays, _halts)
_then = st.sampled_from(["go on", "go on", "edit", "begin anew", "schedule again", "pause", "pause"])
_batches = st.sampled_from([1, 2, 100])


@st.composite
def _specs(draw: st.DrawFn) -> tuple[Any, ...]:
    return draw(_schedules), draw(_policies), draw(_bounds)


class Planning(Followed):
    """Changes to a few jobs, one after another or two at once."""

    @initialize(start=st.sampled_from(STARTS), specs=st.tuples(*[_specs()] * len(KEYS)))
    def begin(self, start: Any, specs: tuple[Any, ...]) -> None:
        self.world.clear(start)
        for key, drawn in zip(KEYS, specs, strict=True):
            self.schedule(key, drawn)
        self.now(self.world.plan(0))

    @rule(leap=_leaps, micros=st.integers(0, 999_999))
    def time_passes(self, leap: timedelta, micros: int) -> None:
        self.later(self.world.now + leap + timedelta(microseconds=micros if leap.seconds else 0))

    @rule(planner=st.integers(0, 1))
    def a_planner_has_its_turn(self, planner: int) -> None:
        self.now(self.world.plan(planner))

    @rule(claimer=_claimers, batch=_batches, lease=_leases, ahead=_aheads)
    def one_claims(self, claimer: int, batch: int, lease: timedelta, ahead: timedelta) -> None:
        self.now(self.claim(claimer, batch, lease, ahead))

    @rule(claimer=_claimers, lease=_leases, leap=_leaps)
    def one_claims_later(self, claimer: int, lease: timedelta, leap: timedelta) -> None:
        self.plan()
        self.time_passes(leap, 0)
        self.now(self.claim(claimer, 100, lease, timedelta(0)))

    @rule(key=_keys, claimer=_claimers, early=st.sampled_from([0.3, 0.0]), then=_then, drawn=_specs())
    def one_claims_about_the_next_instant(
        self, key: str, claimer: int, early: float, then: str, drawn: tuple[Any, ...]
    ) -> None:
        """Claim shortly before the instant, as workers do to start in time, or at it. The job may change then."""
        self.plan()
        if (row := self.carrying(self.models[key])) and row.scheduled_for:
            self.later(row.scheduled_for - timedelta(seconds=early))
        self.now(self.claim(claimer, 100, timedelta(seconds=30), timedelta(seconds=0.5)))
        self._check(eras=1)  # a job that ended with this claim can no longer be changed
        spec = self.models[key].spec
        match then:
            case "edit":
                self.schedule(key, drawn)
            case "begin anew":
                self.schedule_as(key, replace(spec, starts_at=self.world.now - timedelta(days=1), ends_at=None))
            case "schedule again":
                self.schedule_as(key, spec)
            case "pause":
                self.change("select pgsched.pause('job', %s::text)", key)

    @rule(claimers=st.tuples(_claimers, _claimers), batch=_batches, lease=_leases)
    def two_claim_at_once(self, claimers: tuple[int, int], batch: int, lease: timedelta) -> None:
        one, other = claimers
        if one % 4 != other % 4:
            self.now(*(self.claim(claimer, batch, lease, timedelta(0)) for claimer in claimers))

    @rule(claimer=_claimers, planner=st.integers(0, 1), lease=_leases)
    def a_claim_and_a_plan_at_once(self, claimer: int, planner: int, lease: timedelta) -> None:
        self.now(self.world.plan(planner), self.claim(claimer, 100, lease, timedelta(0)), self.world.plan(1 - planner))

    @rule(how=st.sampled_from(["succeed", "succeed", "fail", "retry", "release"]), which=st.integers(0, 19))
    def one_settles(self, how: str, which: int) -> None:
        """The draw ignores who holds rows, because it must not depend on which of two claims came first."""
        if claimers := sorted(self.world.in_hand):
            self.now(self.world.settle(claimers[which % len(claimers)], how))

    @rule()
    def all_succeed(self) -> None:
        for claimer in list(self.world.in_hand):
            self.now(self.world.settle(claimer, "succeed"))

    @rule(owner=_claimers)
    def one_is_lost(self, owner: int) -> None:
        self.now(self.world.reap(self.homes, [owner]))

    @rule()
    def what_waited_is_released(self) -> None:
        self.now(self.world.release())

    @rule(key=_keys)
    def one_is_paused(self, key: str) -> None:
        self.change("select pgsched.pause('job', %s::text)", key)

    @rule(key=_keys)
    def one_is_resumed(self, key: str) -> None:
        self.change("select pgsched.resume('job', %s::text)", key)

    @rule(key=_keys, drawn=_specs())
    def one_is_edited(self, key: str, drawn: tuple[Any, ...]) -> None:
        self.schedule(key, drawn)

    @rule(key=_keys)
    def one_is_scheduled_again(self, key: str) -> None:
        """Schedule an unchanged job, which counts as an edit."""
        self.schedule_as(key, self.models[key].spec)

    @rule(key=_keys, policy=_policies)
    def one_is_told_otherwise(self, key: str, policy: dict[str, Any]) -> None:
        model = self.models[key]
        if model.spec.after_completion:
            return
        spec = self.bounded(model.spec.told(policy))
        if self.world.change("select pgsched.edit(%s, %s)", model.id, Jsonb({"rules": spec.rules()})):
            model.was_told(spec)

    @rule(key=_keys)
    def one_is_triggered(self, key: str) -> None:
        self.world.travel_to(self.world.now + timedelta(milliseconds=1))
        self.triggered.add(self.world.change("select pgsched.trigger(%s)", self.models[key].id))

    @rule(key=_keys, drawn=_specs())
    def one_is_cancelled(self, key: str, drawn: tuple[Any, ...]) -> None:
        """Another job then takes the key."""
        self.change("select pgsched.cancel(%s::uuid)", key)
        self.schedule(key, drawn)

    @rule(key=_keys)
    def its_waiting_row_is_cancelled(self, key: str) -> None:
        self.lose_row(key)

    @rule(key=_keys, claim=_claims)
    def one_is_paused_while_its_overdue_row_is_claimed(self, key: str, claim: tuple[Any, ...]) -> None:
        self.change("select pgsched.pause('job', %s::text)", key, self.claim_overdue(key, *claim))

    @rule(key=_keys, claim=_claims, drawn=_specs())
    def one_is_cancelled_while_its_overdue_row_is_claimed(
        self, key: str, claim: tuple[Any, ...], drawn: tuple[Any, ...]
    ) -> None:
        self.change("select pgsched.cancel(%s::uuid)", key, self.claim_overdue(key, *claim))
        self.schedule(key, drawn)

    @rule(key=_keys, claim=_claims, drawn=st.none() | _specs())
    def one_is_edited_while_its_overdue_row_is_claimed(
        self, key: str, claim: tuple[Any, ...], drawn: tuple[Any, ...] | None
    ) -> None:
        spec, halted = self.models[key].spec, self.claim_overdue(key, *claim)
        if not spec.foreseeable:  # the order of the edit and the claim could not be known
            self.now(halted.claim)
        elif drawn is None:
            self.schedule_as(key, spec, halted)
        else:
            self.schedule(key, drawn, halted)

    @rule(key=_keys, claim=_claims)
    def its_overdue_row_is_cancelled_while_it_is_claimed(self, key: str, claim: tuple[Any, ...]) -> None:
        self.lose_row(key, self.claim_overdue(key, *claim))

    @rule()
    def the_sweep_finds_nothing(self) -> None:
        assert self.now(unplanned_jobs.repair_jobs(self.world.planners[0])) == [(0, None)]


@pytest.fixture
def planning(store_url: str) -> Iterator[type[Planning]]:
    """The machine, in a database for this test alone."""
    loop = asyncio.new_event_loop()
    with own_clock(store_url), psycopg.connect(store_url, autocommit=True) as db:
        hands = [loop.run_until_complete(connect.connect(store_url, "claim")) for _ in range(4)]
        planners = [loop.run_until_complete(connect.connect(store_url, "plan", raw=False)) for _ in range(3)]
        loop.run_until_complete(planners[-1].execute("set lock_timeout = '60s'"))  # it waits for halted claims
        Planning.loop, Planning.world, Planning.taken = loop, World(db, hands, planners), 0
        yield Planning
        for connection in [*hands, *planners]:
            loop.run_until_complete(connection.close())
    loop.close()


def test_each_instant_has_exactly_one_row_or_recorded_outcome(planning: type[Planning]) -> None:
    chosen = settings(
        max_examples=STEPS // (3 * LENGTH) + 1,
        stateful_step_count=LENGTH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if "PGSCHED_SHRINK" in os.environ else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    round = SEED * 1000
    while planning.taken < STEPS:  # some examples end before their last step
        seed(round)(planning)
        run_state_machine_as_test(planning, settings=chosen)
        round += 1
