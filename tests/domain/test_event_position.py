"""Reads miss nothing and repeat nothing, whatever the commit order; tested on random histories."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pgsched.domain import event_position
from pgsched.domain.event_position import Position, TransactionSnapshot, VisibilityHorizon
from pgsched.errors import InvalidInput

Row = tuple[int, UUID]
_BEGIN, _COMMIT, _READ, _RESUME, _WRITE = range(5)
_OPENED_BEFORE = [(step, 0) for step in (0, 0, 0, 0, 0, 1, 1, 3, 1, 1, 2, 2, 2, 3, 4)]
"""Five transactions are open when the position is taken, which with ``most_open=2`` lists only two of them."""
_STEPS = st.lists(st.tuples(st.integers(_BEGIN, _WRITE), st.integers(0, 10**6)), max_size=60)


@dataclass
class _World:
    """Transactions, numbered from 3, and their rows."""

    newest: int = 3
    clock: int = 1_000_000
    rows: dict[int, list[UUID]] = field(default_factory=dict)
    began: dict[int, int] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    def begin(self) -> None:
        self.open.add(self.newest)
        self.rows[self.newest], self.began[self.newest] = [], self.clock
        self.newest += 1

    def write(self, drawn: int) -> None:
        if self.open:
            self.rows[sorted(self.open)[drawn % len(self.open)]].append(UUID(int=drawn * 1000 + len(self.rows)))

    def commit(self, drawn: int) -> None:
        if self.open:
            self.open.remove(sorted(self.open)[drawn % len(self.open)])

    def horizon(self) -> VisibilityHorizon:
        self.clock += 1
        xip = ",".join(map(str, sorted(self.open)))
        text = f"{min(self.open, default=self.newest)}:{self.newest}:{xip}"
        return VisibilityHorizon(seen=TransactionSnapshot.parse(text), newest=self.newest, at=self.clock)

    def read(self, at: Position, horizon: VisibilityHorizon, limit: int, span: int) -> tuple[list[Row], Position]:
        """Returns the rows that the statement would read and the position where it stops."""
        low = at.seen.xmax
        high = min(max(horizon.seen.xmax, low), low + span)
        late = at.late(horizon)
        found = [
            (one, id)
            for one, ids in self.rows.items()
            if (one in late or low <= one < high) and one not in horizon.seen.open
            for id in set(ids)
            if one != at.transaction or id > (at.id or id)
        ]
        found = sorted(found, key=lambda row: (row[0] != at.transaction, *row))[:limit]
        for one, id in found:
            assert self.began[one] >= at.earliest.timestamp()
            at = at.after(horizon, one, id)
        return found, at if len(found) == limit else at.up_to(horizon, high)

    def committed(self) -> list[Row]:
        return [(one, id) for one, ids in self.rows.items() if one not in self.open for id in set(ids)]


@pytest.mark.parametrize("most_open", [2, 1000])
@settings(max_examples=150, deadline=None)
@given(steps=_STEPS, limit=st.integers(1, 4), span=st.integers(1, 6))
@example(steps=_OPENED_BEFORE, limit=1, span=1)
def test_each_row_is_read_once_however_late_it_commits(
    most_open: int, steps: list[tuple[int, int]], limit: int, span: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_position, "MOST_OPEN", most_open)
        patch.setattr(event_position, "_BEFORE", timedelta(0))
        _read_along(_World(), steps, limit, span)


def _read_along(world: _World, steps: list[tuple[int, int]], limit: int, span: int) -> None:
    at, told = Position.of(world.horizon()), list[Row]()
    horizon = world.horizon()
    for step, drawn in steps:
        match step:
            case 0:
                world.begin()
            case 1:
                world.commit(drawn)
            case 4:
                world.write(drawn)
            case _:
                horizon = world.horizon() if step == _RESUME or not at.is_within(horizon) else horizon
                if at.is_within(horizon):
                    found, at = world.read(at, horizon, limit, span)
                    told += found
                at = Position.parse(str(at))
    world.open.clear()
    horizon, found = world.horizon(), [(0, UUID(int=0))]
    while found or at.seen != horizon.seen:
        found, at = world.read(at, horizon, limit, span)
        told += found
    assert sorted(told) == sorted(world.committed())


def test_a_long_transaction_delays_only_its_own_rows() -> None:
    before = VisibilityHorizon(seen=TransactionSnapshot.parse("10:13:10"), newest=13, at=100)
    after = VisibilityHorizon(seen=TransactionSnapshot.parse("10:20:10,15"), newest=20, at=200)
    read = Position.of(before).up_to(after, 20)
    assert read.seen == TransactionSnapshot(20, (10, 15))
    assert (read.since, read.at) == (100, 200)
    assert not read.late(after)
    assert read.late(VisibilityHorizon(seen=TransactionSnapshot(30), newest=30, at=300)) == [10, 15]


def test_a_position_is_readable_only_once_the_snapshot_reaches_it() -> None:
    read = Position.of(VisibilityHorizon(seen=TransactionSnapshot(20, (10,)), newest=20, at=100))
    assert not read.is_within(VisibilityHorizon(seen=TransactionSnapshot(20, (10, 15)), newest=20, at=99))
    assert not read.is_within(VisibilityHorizon(seen=TransactionSnapshot(19, (10,)), newest=19, at=99))
    assert read.is_within(VisibilityHorizon(seen=TransactionSnapshot(21, (20,)), newest=21, at=101))
    partly = read.after(VisibilityHorizon(seen=TransactionSnapshot(30), newest=30, at=101), 25, UUID(int=1))
    assert not partly.is_within(VisibilityHorizon(seen=TransactionSnapshot(30, (25,)), newest=30, at=102))


def test_a_position_lists_only_the_lowest_of_many_open_transactions() -> None:
    xip = ",".join(str(2 * one) for one in range(5, 1500))
    found = TransactionSnapshot.parse(f"10:5000:{xip}")
    assert (len(found.open), found.xmax) == (event_position.MOST_OPEN, 2 * (5 + event_position.MOST_OPEN))
    assert len(str(Position(seen=found, since=1, at=2))) < event_position.LONGEST


def test_a_beginning_position_does_not_lie_after_its_instant() -> None:
    begun = Position.beginning(datetime(2026, 3, 1, tzinfo=UTC))
    assert begun.earliest <= datetime(2026, 3, 1, tzinfo=UTC)
    assert Position.parse(str(begun)) == begun


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "x.0.0..", "1.1.5.6.", "1.1.5.2-0.", "1.1.5.2-.", "1.1.5.-.", "1.1.5.0.", "1.1.5..6.0", "1.1.5..7.",
        "1.1.5..4." + "0" * 32, "1.1.5..6." + "0" * 32, "1.1.5...", "1.1.5..\n", "1.1.0x5..", "fffffffff.fffffffff.5..",
        "1.1.ffff.1" + "-1" * 20_000 + ".", "\uff11.1.5..",
    ],
)  # fmt: skip
def test_an_invalid_position_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not the id of an event"):
        Position.parse(text)


def test_a_position_from_another_database_is_refused() -> None:
    read = Position.of(VisibilityHorizon(seen=TransactionSnapshot(20), newest=20, at=100))
    with pytest.raises(InvalidInput, match="not from this database"):
        read.check(VisibilityHorizon(seen=TransactionSnapshot(19), newest=19, at=200))
    read.check(VisibilityHorizon(seen=TransactionSnapshot(15), newest=25, at=200))
