"""When more is due than workers can do, priority decides what goes first."""

import asyncio
from collections.abc import Sequence

from pgsched.delivery.app import App
from pgsched.domain.execution import ClaimedExecution
from pgsched.store.live.executions import Claimed, PartitionShare
from pgsched.store.live.row_filter_and_next_due import ALL_ROWS, RowFilter
from pgsched.worker.claim.client_streams import Stream
from tests.worker.conftest import Connection, Running, until_history

BACKLOG = """
select count(pgsched.schedule('python:note', to_jsonb(%s::text), options => %s::jsonb,
         fire_at => now() - make_interval(secs => %s))) from generate_series(1, %s)"""
ROW = ClaimedExecution(0, b"", 0, 1, 0, 0, "default", "python:note", None, None, None, None, None, None)


async def due(db: Connection, name: str, count: int, *, priority: int = 0, ago: int = 10) -> None:
    options = f'{{"priority": {priority}}}' if priority else None
    await db.execute(BACKLOG, [name, options, ago, count])


async def order(running: Running, db: Connection, count: int) -> list[str]:
    """The names of the executions in the order in which one worker with two lanes starts them."""
    began: list[str] = []
    app = App()

    @app.handler("note")
    async def note(name: str) -> None:
        began.append(name)
        await asyncio.sleep(0.005)

    async with running(app, concurrency=2):
        await until_history(db, count)
    return began


async def test_higher_priority_rows_go_first_even_if_due_later(running: Running, db: Connection) -> None:
    await due(db, "ordinary", 120, ago=60)
    await due(db, "high", 5, priority=10, ago=5)
    await due(db, "highest", 5, priority=90, ago=1)
    began = await order(running, db, 130)
    assert sorted(began[:5]) == ["highest"] * 5
    assert max(place for place, name in enumerate(began) if name == "high") < 60


async def test_rows_with_a_negative_priority_go_last(running: Running, db: Connection) -> None:
    await due(db, "low", 150, priority=-5, ago=60)
    await due(db, "ordinary", 30, ago=5)
    began = await order(running, db, 180)
    assert max(place for place, name in enumerate(began) if name == "ordinary") < 130


async def test_future_high_priority_rows_delay_no_due_rows(running: Running, db: Connection) -> None:
    await due(db, "later", 20, priority=50, ago=-3600)
    await due(db, "ordinary", 40)
    assert await order(running, db, 40) == ["ordinary"] * 40


class Backlog:
    """An endless backlog of every kind."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, shares: Sequence[PartitionShare], row_filter: RowFilter) -> Claimed:
        count = shares[0].batch
        self.asked.append(("first" if row_filter.first else "ordinary", count))
        return Claimed([ROW] * count, [], {})


async def test_one_claimed_row_in_four_is_chosen_by_instant() -> None:
    stream, by_instant = Stream(), 0
    for _ in range(400):
        taken = 1 - await stream.claim_by_priority(Backlog(), [0, 1], 1, ALL_ROWS)
        by_instant += taken
        stream.went_by_instant([ROW] * taken, asked=taken)
    assert by_instant == 100


async def test_claims_ask_for_ordinary_rows_after_a_low_priority_row() -> None:
    stream, backlog = Stream(), Backlog()
    await stream.claim_by_priority(backlog, [0], 8, ALL_ROWS)
    stream.went_by_instant([ROW._replace(options=b'{"priority": -1}')], asked=1)

    async def nothing_first(shares: Sequence[PartitionShare], row_filter: RowFilter) -> Claimed:
        return Claimed([], [], {}) if row_filter.first else await backlog(shares, row_filter)

    await stream.claim_by_priority(nothing_first, [0], 8, ALL_ROWS)
    assert [kind for kind, _ in backlog.asked] == ["first", "ordinary"]
