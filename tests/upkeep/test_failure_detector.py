"""Which workers may be declared lost, judged by the database's responses and by when they arrive."""

from dataclasses import dataclass, field

import pytest

from pgsched.store.admin.worker_registry import RegisteredWorker
from pgsched.upkeep.failure_detector import CATCH_UP, FailureDetector

LEASE = 30.0
TERM = 20.0
RENEWS = LEASE / 4


@dataclass
class World:
    """Two workers, one of which watches the other. Both renew on time unless a test says otherwise."""

    detector: FailureDetector = field(default_factory=FailureDetector)
    clock: float = 1000.0
    step: float = 5_000.0
    """How far the database's clock is ahead of the monotonic clock."""
    renewed: dict[int, float] = field(default_factory=lambda: {1: 0.0, 2: 0.0})
    silent: set[int] = field(default_factory=set)
    gone: bool = False
    standing_still: bool = False

    def turn(self, *, after: float = 1.0, takes: float = 0.001) -> list[int]:
        sent = self.clock + after
        self.clock = sent + takes
        for id, at in self.renewed.items():
            if id not in self.silent and not self.standing_still and self.clock - at >= RENEWS:
                self.renewed[id] = self.clock
                self.ends[id] = self.clock + self.step + TERM
        self.detector.observe([self._worker(id) for id in (1, 2)], sent, self.clock)
        if self.detector.needs_proof and not self.standing_still:
            self.detector.prove(self.clock, self.clock + takes)
        return self.detector.lost()

    def turns(self, seconds: float, *, every: float = 1.0) -> list[int]:
        until, lost = self.clock + seconds, list[int]()
        while self.clock < until:
            lost += self.turn(after=every)
        return lost

    ends: dict[int, float] = field(default_factory=lambda: {1: 0.0, 2: 0.0})

    def _worker(self, id: int) -> RegisteredWorker:
        return RegisteredWorker(
            id=id, queues=[], served=[], paused=[], expires_at=self.ends[id], lease=LEASE, now=self.clock + self.step,
            gone=id == 2 and self.gone, lost=False,
        )  # fmt: skip


@pytest.fixture
def world() -> World:
    """A world after an uneventful minute."""
    made = World()
    assert made.turns(60) == []
    return made


def test_a_worker_without_a_session_is_lost_within_two_seconds(world: World) -> None:
    world.gone = True
    world.turn()
    assert 2 in world.turns(1.0, every=0.25)


def test_a_worker_whose_sessions_return_in_the_grace_period_is_not_lost(world: World) -> None:
    world.gone = True
    assert world.turns(0.5, every=0.25) == []
    world.gone = False
    assert world.turns(5) == []


def test_a_frozen_worker_is_lost_within_its_lease(world: World) -> None:
    world.silent = {2}
    assert 2 in world.turns(LEASE)


def test_after_a_database_freeze_running_workers_get_time_to_renew(world: World) -> None:
    world.standing_still = True
    assert world.turn(takes=100.0) == []
    assert world.turns(RENEWS) == []
    world.standing_still = False
    assert world.turns(120) == []


def test_after_a_detector_freeze_running_workers_get_time_to_renew(world: World) -> None:
    world.standing_still = True
    assert world.turn(after=100.0) == []
    assert world.turns(RENEWS) == []
    world.standing_still = False
    assert world.turns(120) == []


@pytest.mark.parametrize("hour", [3600.0, -3600.0])
def test_a_database_clock_step_does_not_make_workers_lost(world: World, hour: float) -> None:
    world.step += hour
    assert world.turns(120) == []


def test_a_frozen_worker_is_lost_even_if_the_clock_is_set_back(world: World) -> None:
    world.silent = {2}
    world.step -= 3600
    assert 2 in world.turns(LEASE + RENEWS)


def test_no_worker_is_lost_while_commits_are_blocked(world: World) -> None:
    """Commits wait for a standby: reads are fast, but no worker can renew."""
    world.standing_still = True
    assert world.turns(300) == []
    world.standing_still = False
    assert world.turns(120) == []


def test_after_an_interruption_a_missing_session_gets_more_time(world: World) -> None:
    world.detector.interrupt()
    world.gone = True
    assert world.turns(CATCH_UP - 0.5, every=0.25) == []
    assert 2 in world.turns(2, every=0.25)


def test_leases_expire_only_after_holders_have_had_time_to_renew(world: World) -> None:
    assert world.detector.ended_by() == pytest.approx(world.clock + world.step)
    world.turn(takes=20.0)
    assert world.detector.ended_by() is None
    world.turns(RENEWS)
    assert world.detector.ended_by() is None
    world.turns(LEASE / 2)
    assert world.detector.ended_by() is not None
