"""A client whose target hangs gets only its share of the lanes, and other clients continue."""

import asyncio
from collections import Counter

import pytest

from pgsched.delivery.app import App
from pgsched.delivery.slots import NoFreeSlot
from pgsched.worker.run.client_shares import Shares
from tests.worker.conftest import Connection, Running, until, until_history, value


class Crew:
    """Lanes shared by clients."""

    def __init__(self, lanes: int) -> None:
        self.shares = Shares(lanes=lanes, is_wanted=lambda: True)
        self.shares.idle = lambda: self.idle
        self.idle = lanes
        self.taken: list[str] = []

    def work(self, client: str) -> int:
        """The number of lanes that a client gets when it takes all it may."""
        count = 0
        while self.idle:
            self.idle -= 1
            try:
                self.shares.take(client)
            except NoFreeSlot:
                self.idle += 1
                break
            self.taken.append(client)
            count += 1
        return count


@pytest.mark.parametrize(("lanes", "each"), [(200, [150, 37, 9, 3]), (4, [3, 1]), (2, [1, 1]), (1, [1])])
def test_a_client_may_take_three_lanes_for_each_idle_lane(lanes: int, each: list[int]) -> None:
    crew = Crew(lanes)
    assert [crew.work(f"client-{n}") for n in range(len(each))] == each


def test_returned_lanes_are_free_for_other_clients() -> None:
    crew = Crew(4)
    assert crew.work("a") == 3
    for client in crew.taken:
        crew.shares.give_back(client)
    crew.idle = 4
    assert crew.work("b") == 3


def test_a_client_with_many_waiting_rows_is_skipped_until_fewer_wait() -> None:
    relieved = list[int]()
    shares = Shares(lanes=100, is_wanted=lambda: True)
    shares.relieved.connect(lambda: relieved.append(1))
    shares.look(Counter(slow=25, quick=24))
    assert shares.crowded == {"slow"}
    shares.look(Counter(slow=13))
    assert shares.crowded == {"slow"}
    assert not relieved
    shares.look(Counter(slow=11))
    assert not shares.crowded
    assert relieved == [1]


def test_a_single_client_is_never_skipped() -> None:
    shares = Shares(lanes=100, is_wanted=lambda: False)
    shares.look(Counter(slow=1000))
    assert not shares.crowded
    assert not shares.wanted


MANY = "insert into pgsched.executions (client_id, target, fire_at) select %s, %s, now() from generate_series(1, %s)"


async def test_a_client_with_hanging_handlers_leaves_lanes_to_other_clients(db: Connection, running: Running) -> None:
    app, go, hanging = App(), asyncio.Event(), list[int]()

    @app.handler("hang")
    async def hang() -> None:
        hanging.append(1)
        await go.wait()

    @app.handler("quick")
    async def quick() -> None: ...

    await db.execute("insert into pgsched.clients (client_id) values ('slow'), ('shop')")
    async with running(app, concurrency=8) as worker:

        async def is_shared() -> bool:
            return bool(worker.parts.dispatcher.shares.wanted)

        await until(is_shared)
        await db.execute(MANY.encode(), ["slow", "python:hang", 300])

        async def is_crowded() -> bool:
            return "slow" in worker.parts.dispatcher.shares.crowded

        await until(is_crowded)
        for done in range(1, 6):
            await db.execute(MANY.encode(), ["shop", "python:quick", 1])
            await until_history(db, done)
        assert 0 < len(hanging) < 8
        assert await value(db, "select count(*) from pgsched.history where client_id = 'slow'") == 0
        go.set()
        await until_history(db, 305, seconds=60)
    assert await value(db, "select max(attempt) from pgsched.history") == 1
