"""A law of the sweeper: every row is read within a time bound, however slow reading is."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsched.worker.claim.sweeper import ONE_IN, OTHERS_ONE_IN, Sweeps
from tests.worker.claim.still import CLOCK, stopped_clock

EVERY = 1.0
PART = 10


@pytest.fixture(autouse=True, scope="module")
def stopped() -> Iterator[None]:
    with stopped_clock():
        yield


@pytest.fixture
def sweeps() -> Sweeps:
    CLOCK.now = 0.0  # whole seconds add up exactly
    return Sweeps(every=EVERY)


@dataclass
class World:
    """Partitions with one skipped row at each instant. Only reading and waiting take time."""

    depths: list[int]
    slowness: float
    sweeps: Sweeps = field(default_factory=lambda: Sweeps(every=EVERY))
    began: dict[int, int] = field(default_factory=dict)
    """Where the last statement started to read each partition; ``reached`` has where it stopped."""
    reached: dict[int, int] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """Seconds to read everything once."""
        return self.slowness * (sum(self.depths) / 1000 + (max(self.depths) // PART + 1) / 100)

    def step(self, *, is_partial: bool = False) -> float:
        """Take one turn of the sweeper. Returns the seconds that it spent reading."""
        half = len(self.depths) // 2
        self.began = self.sweeps.next(range(half), range(half, len(self.depths)), is_partial=is_partial)
        if not self.began:
            CLOCK.now += max(self.sweeps.pause, 1e-6)
            return 0.0
        self.reached = {p: min(max(low, 0) + PART, self.depths[p]) for p, low in self.began.items()}
        rows = sum(max(self.reached[p] - max(low, 0), 0) for p, low in self.began.items())
        seconds = self.slowness * (rows / 1000 + 1 / 100)
        with self.sweeps.pace.work():
            CLOCK.now += seconds
        read_to = {p: end if end < self.depths[p] else None for p, end in self.reached.items()}
        self.sweeps.read(read_to, seconds=seconds)
        return seconds

    def has_read(self, partition: int, instant: int) -> bool:
        low, end = self.began.get(partition, math.inf), self.reached.get(partition, -1)
        return max(low, 0) <= instant <= end


WORLDS = st.builds(
    World, depths=st.lists(st.integers(0, 200), min_size=2, max_size=6), slowness=st.sampled_from([0.2, 1.0, 8.0])
)


@settings(deadline=None, max_examples=100)
@given(world=WORLDS, data=st.data(), is_partial=st.booleans())
def test_each_row_is_read_within_the_time_bound(world: World, data: st.DataObject, is_partial: bool) -> None:
    for _ in range(data.draw(st.integers(0, 40), label="turns before")):
        world.step(is_partial=is_partial)
    partition = data.draw(st.integers(0, len(world.depths) - 1), label="partition")
    instant = data.draw(st.integers(0, world.depths[partition]), label="instant")
    sweeps = OTHERS_ONE_IN if is_partial and partition >= len(world.depths) // 2 else 1
    bound = CLOCK.now + sweeps * (EVERY + 2 * ONE_IN * world.whole) + 1e-5
    while True:
        if world.step(is_partial=is_partial) and world.has_read(partition, instant):
            break
        assert CLOCK.now <= bound
    assert CLOCK.now <= bound


@settings(deadline=None, max_examples=50)
@given(world=WORLDS)
def test_sweeps_take_no_more_than_their_share_of_time(world: World) -> None:
    began = CLOCK.now
    reading = sum(world.step() for _ in range(300))
    assert reading <= (CLOCK.now - began) / ONE_IN + world.whole


def test_a_frozen_statement_delays_the_next_sweep_by_only_seconds(sweeps: Sweeps) -> None:
    assert sweeps.next([1])
    with sweeps.pace.work():
        CLOCK.now += 60.0  # a server that was frozen
    sweeps.read({1: 5}, seconds=60.0)
    assert sweeps.pause <= ONE_IN


def test_another_workers_sweep_postpones_the_next_sweep(sweeps: Sweeps) -> None:
    sweeps.swept(0.25)
    assert sweeps.pause >= EVERY
    assert sweeps.took == 0.25


def test_some_sweeps_also_read_other_workers_partitions(sweeps: Sweeps) -> None:
    read = []
    for _ in range(2 * OTHERS_ONE_IN):
        marks = sweeps.next([1], [2], is_partial=True)
        sweeps.read(dict.fromkeys(marks), seconds=0.0)
        read.append(sorted(marks))
        CLOCK.now += EVERY
    assert read.count([1, 2]) == 2
    assert read.count([1]) == 2 * OTHERS_ONE_IN - 2


def test_a_partition_that_is_no_longer_served_is_forgotten(sweeps: Sweeps) -> None:
    sweeps.next([1, 2])
    sweeps.read({1: 5, 2: 5}, seconds=0.0)
    assert sweeps.next([1]) == {1: 5}
