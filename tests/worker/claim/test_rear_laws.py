"""The law of what the rear reads and claims: every row that is not passed over is claimed, however rows lie."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsched.events import Events
from pgsched.service import Signal
from pgsched.store.live import looking
from pgsched.store.live.executions import Claimed, Share
from pgsched.store.live.looking import Span, WaitingRange
from pgsched.worker.claim import rear as rear_module
from pgsched.worker.claim.rear import Rear
from tests.worker.claim.still import CLOCK, stopped_clock

PART = 5
EVERY = 1.0
PARTITIONS = [0, 1, 2]
NOW = 10_000_000


@pytest.fixture(autouse=True, scope="module")
def stopped() -> Iterator[None]:
    with (
        stopped_clock(),
        mock.patch.object(rear_module, "time", CLOCK),
        mock.patch.object(rear_module, "_PART", PART),
        mock.patch.object(looking, "peek", lambda world, spans, **_: world.peek(spans)),
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
    """Waiting rows, and a rear whose statements are answered from them as the database would answer."""

    rows: list[Row]
    batch: int
    free: int
    is_partial: bool = True
    rear: Rear = field(init=False)

    def __post_init__(self) -> None:
        self.expected: list[tuple[int, int]] = []
        link = SimpleNamespace(get=self._get)
        clock = SimpleNamespace(known=True, now=lambda: NOW)
        roster = SimpleNamespace(number=1, own=PARTITIONS, open=PARTITIONS)
        leases = SimpleNamespace(
            events=Events(lambda *_: None), link=link, roster=roster, clock=clock, give_back=_nothing, claim=self.claim
        )
        given: Any = {
            "front": SimpleNamespace(low=lambda partition: NOW, left_behind=Signal()),
            "admission": SimpleNamespace(admit=None),
            "fairness": mock.Mock(),
            "selection": SimpleNamespace(is_ready=True, is_partial=self.is_partial, row_filter=None),
        }
        dispatcher: Any = SimpleNamespace(free=self.free, spare=0, submit=lambda rows, until: None)
        held: Any = leases
        self.rear = Rear(held, dispatcher, every=EVERY, batch=self.batch, **given)

    async def _get(self) -> "World":
        return self

    async def peek(self, spans: Mapping[int, Span]) -> dict[int, WaitingRange]:
        found = {}
        for partition, span in spans.items():
            part = [row for row in self._within(partition, span.low) if row.fire_at <= span.until][:PART]
            firsts = [row.fire_at for row in part if not row.is_passed_over]
            found[partition] = WaitingRange(min(firsts, default=None), part[-1].fire_at if len(part) == PART else None)
        return found

    async def claim(self, shares: Sequence[Share], ahead: timedelta, **_: object) -> Claimed:
        taken: list[Any] = []
        until = NOW + ahead // timedelta(microseconds=1)
        for partition, low, batch in shares:
            due = [row for row in self._within(partition, low) if row.fire_at <= until and not row.is_passed_over]
            taken += due[:batch]
        self.rows = [row for row in self.rows if row not in taken]
        return Claimed(taken, taken, {})

    def _within(self, partition: int, low: int) -> Collection[Row]:
        return sorted(row for row in self.rows if row.partition == partition and row.fire_at >= low)

    async def run(self, turns: int) -> None:
        for _ in range(turns):
            CLOCK.now += 0.001 + await self.rear.turn()


async def _nothing() -> None:
    pass


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
def test_each_row_that_is_not_passed_over_is_claimed(rows: list[Row], later: list[Row], batch: int, free: int) -> None:
    """Also those that come in behind what has been read."""
    world = World(rows, batch, free)
    for more in ([], later, []):
        world.rows += more
        turns = 4 * (len(world.rows) + 2)  # each takes a row at least, reads past one, or ends a lap
        asyncio.run(world.run(turns))
    assert [row for row in world.rows if not row.is_passed_over] == []
