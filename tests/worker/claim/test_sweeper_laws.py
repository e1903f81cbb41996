"""A law of the sweeper: every row that is not skipped is claimed, wherever rows lie."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import InstantRange, WaitingRange
from pgsched.telemetry import Events
from pgsched.worker.claim import sweeper as sweeper_module
from pgsched.worker.claim.sweeper import Sweeper
from tests.worker.claim.still import CLOCK, stopped_clock

PART = 5
EVERY = 1.0
PARTITIONS = [0, 1, 2]
NOW = 10_000_000


@pytest.fixture(autouse=True, scope="module")
def stopped() -> Iterator[None]:
    with (
        stopped_clock(),
        mock.patch.object(sweeper_module, "time", CLOCK),
        mock.patch.object(sweeper_module, "_PART", PART),
        mock.patch.object(sweeper_module, "peek", lambda world, spans, **_: world.peek(spans)),
    ):
        yield


@dataclass(frozen=True, order=True)
class Row:
    fire_at: int
    partition: int
    is_passed_over: bool
    number: int


@dataclass
class World:
    """Waiting rows, and a sweeper whose statements they answer as the database would."""

    rows: list[Row]
    batch: int
    free: int
    is_partial: bool = True
    sweeper: Sweeper = field(init=False)

    def __post_init__(self) -> None:
        self.expected: list[tuple[int, int]] = []
        given: list[Any] = [
            SimpleNamespace(get=self._get),
            Events(lambda *_: None),
            SimpleNamespace(number=1, own=PARTITIONS, open=PARTITIONS),
            SimpleNamespace(known=True, now=lambda: NOW),
            SimpleNamespace(spare=0),
        ]
        front: Any = SimpleNamespace(begin=lambda partition: NOW)
        selection: Any = SimpleNamespace(is_ready=True, is_partial=self.is_partial, row_filter=None)
        self.sweeper = Sweeper(*given, front=front, every=EVERY, selection=selection)

    async def _get(self) -> "World":
        return self

    async def peek(self, spans: Mapping[int, InstantRange]) -> dict[int, WaitingRange]:
        found = {}
        for partition, span in spans.items():
            part = [row for row in self._within(partition, span.low) if row.fire_at <= span.until][:PART]
            firsts = [row.fire_at for row in part if not row.is_passed_over]
            found[partition] = WaitingRange(min(firsts, default=None), part[-1].fire_at if len(part) == PART else None)
        return found

    def claim(self, shares: Sequence[PartitionShare], until: int) -> Claimed:
        taken: list[Any] = []
        for partition, low, batch in shares:
            due = [row for row in self._within(partition, low) if row.fire_at <= until and not row.is_passed_over]
            taken += due[:batch]
        self.rows = [row for row in self.rows if row not in taken]
        return Claimed(taken, taken, {})

    def _within(self, partition: int, low: int) -> Collection[Row]:
        return sorted(row for row in self.rows if row.partition == partition and row.fire_at >= low)

    async def run(self, turns: int) -> None:
        for _ in range(turns):
            pause = await self.sweeper.turn()
            if self.sweeper.found:
                shares, until = self.sweeper.shares(self.free, batch=self.batch)
                self.sweeper.claimed(shares, self.claim(shares, until))
            else:
                CLOCK.now += 0.001 + pause


def rows_of(drawn: list[tuple[int, int, bool]]) -> list[Row]:
    return [Row(at, partition, over, number) for number, (at, partition, over) in enumerate(drawn)]


rows = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 30), st.integers(0, 30).map(lambda at: 1000 * at), st.integers(0, 3_000_000)),
        st.sampled_from(PARTITIONS),
        st.booleans(),
    ),
    max_size=60,
).map(rows_of)


@settings(max_examples=100, deadline=None)
@given(rows=rows, later=rows, batch=st.integers(1, 40), free=st.integers(1, 40))
def test_each_row_that_is_not_skipped_is_claimed(rows: list[Row], later: list[Row], batch: int, free: int) -> None:
    """This includes rows that are inserted behind rows already read."""
    world = World(rows, batch, free)
    for more in ([], later, []):
        world.rows += more
        turns = 4 * (len(world.rows) + 2)  # each turn takes a row, reads past a row, or ends a sweep
        asyncio.run(world.run(turns))
    assert [row for row in world.rows if not row.is_passed_over] == []
