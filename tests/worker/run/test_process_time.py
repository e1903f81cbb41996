"""A client whose handlers keep the process from everything else has a part of its time, and the others go on."""

import time

import pytest

from pgsched.delivery.handlers import Context
from pgsched.delivery.python import App
from pgsched.events import Events
from pgsched.worker.run.process_time import PERIOD, ProcessTime, Reading
from pgsched.worker.run.shares import Shares
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value


class Held:
    """Shares, and who is charged for what."""

    def __init__(self) -> None:
        self.shares = Shares(lanes=100, is_wanted=lambda: True, relieved=lambda: None)
        self.shares.look({})
        self.time = ProcessTime(Events(), self.shares, turned_at=lambda: 0.0, row_of=lambda task: None, functions=dict)

    def count(
        self, client: str | None, passed: float, *, loop: float = 0.0, others: float = 0.0, **used: float
    ) -> None:
        row = execution("python:work", client_id=client) if client else None
        self.time.count(row, Reading(0.0, 0.0, 0.0, {}), Reading(passed, loop, loop + others, used))

    @property
    def charged(self) -> dict[str, float]:
        return {client: round(seconds, 6) for client, seconds in self.time._charged.items()}


@pytest.fixture
def held() -> Held:
    return Held()


def test_who_sleeps_in_the_loop_is_charged_for_each_look(held: Held) -> None:
    for _ in range(5):
        held.count("mallory", PERIOD)
    assert held.charged == {"mallory": round(5 * PERIOD, 6)}


def test_who_computes_in_the_loop_is_charged_for_all_of_it_however_late_the_look_comes(held: Held) -> None:
    held.count("mallory", 0.5, loop=0.45)
    assert held.charged == {"mallory": 0.45}


def test_a_look_that_the_machine_delays_counts_as_one(held: Held) -> None:
    held.count("shop", 0.5, loop=0.001)
    assert held.charged == {"shop": PERIOD}


def test_who_computes_in_threads_is_charged_and_not_whose_row_waits_for_the_lock(held: Held) -> None:
    held.count("shop", 0.2, loop=0.001, others=0.19, mallory=0.18, another=0.02)
    assert held.charged == {"mallory": 0.18, "another": 0.02, "shop": 0.001}


def test_threads_of_many_processors_are_charged_for_no_more_than_has_passed(held: Held) -> None:
    held.count(None, 0.2, others=1.6, mallory=1.2, another=0.4)
    assert held.charged == {"mallory": 0.15, "another": 0.05}


def test_a_client_begins_nothing_until_enough_is_forgiven(held: Held) -> None:
    held.time.charge("mallory", 0.4)
    held.time.charge("shop", 0.09)
    held.time.judge(0.0)
    assert held.shares.over == {"mallory"}
    assert held.shares.free_for("mallory") == 0
    assert held.shares.free_for("shop") > 0
    assert held.shares.why("mallory") is not None
    held.time.judge(1.7)
    assert held.shares.over == {"mallory"}
    held.time.judge(1.8)
    assert not held.shares.over
    assert held.shares.free_for("mallory") > 0


def test_what_is_forgiven_is_shared_by_those_who_are_over(held: Held) -> None:
    held.time.charge("mallory", 0.4)
    held.time.charge("malcolm", 0.4)
    held.time.judge(0.0)
    held.time.judge(1.8)
    assert held.shares.over == {"mallory", "malcolm"}


def test_nobody_is_kept_for_minutes_by_what_one_handler_did(held: Held) -> None:
    held.time.charge("mallory", 40.0)
    held.time.judge(0.0)
    held.time.judge(10.0)
    assert not held.shares.over


def test_claims_pass_over_who_is_held_back_and_waits(held: Held) -> None:
    held.shares.hold_back(frozenset({"mallory"}))
    held.shares.look({"mallory": 1, "shop": 1})
    assert held.shares.crowded == {"mallory"}
    held.shares.hold_back(frozenset())
    held.shares.look({"mallory": 1, "shop": 1})
    assert not held.shares.crowded


MANY = (
    "insert into pgsched.executions (client_id, target, fire_at, options)"
    " select %s, %s, now(), %s::jsonb from generate_series(1, %s)"
)
ONCE = '{"max_attempts": 1}'
CLIENTS = "insert into pgsched.clients (client_id) values ('mallory'), ('shop')"


@pytest.mark.parametrize("options", [None, ONCE])
async def test_handlers_that_block_the_loop_for_a_moment_each_leave_it_to_others_between(
    db: Connection, running: Running, recorder: Recorder, options: str | None
) -> None:
    app, begun = App(), list[str]()

    @app.handler("block")
    async def block() -> None:
        begun.append("block")
        time.sleep(0.3)  # noqa: ASYNC251  what this is about

    @app.handler("quick")
    async def quick() -> None:
        begun.append("quick")

    await db.execute(CLIENTS)
    async with running(app) as worker:

        async def is_shared() -> bool:
            return bool(worker.dispatcher.shares.wanted)

        await until(is_shared)
        await db.execute(MANY.encode(), ["mallory", "python:block", options, 40])
        said = await recorder.wait_for("loop.shared")
        for _ in range(10):
            await db.execute(MANY.encode(), ["shop", "python:quick", None, 1])
        query = "select count(*) = 10 from pgsched.history where client_id = 'shop'"
        await until(lambda: value(db, query))
    assert (said["client"], said["target"]) == ("mallory", "python:block")
    assert begun.count("block") < 30
    assert await value(db, "select count(*) from pgsched.history where attempt > 1") == 0


async def test_where_there_is_one_client_its_handlers_have_all_the_time(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()

    @app.handler("block")
    async def block() -> None:
        time.sleep(0.2)  # noqa: ASYNC251

    async with running(app):
        await db.execute(MANY.encode(), ["default", "python:block", None, 8])
        await until_history(db, 8)
    assert not recorder.named("loop.shared")


async def test_who_computes_in_threads_begins_nothing_more_until_others_had_their_part(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app, begun = App(), list[str]()

    @app.handler("compute")
    def compute(context: Context) -> None:
        begun.append(context.client)
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            sum(range(1000))

    await db.execute(CLIENTS)
    async with running(app, concurrency=64, handler_threads=64) as worker:

        async def is_shared() -> bool:
            return bool(worker.dispatcher.shares.wanted)

        await until(is_shared)
        await db.execute(MANY.encode(), ["mallory", "python:compute", None, 200])
        said = await recorder.wait_for("loop.shared")
        await db.execute(MANY.encode(), ["shop", "python:compute", None, 1])
        query = "select count(*) = 1 from pgsched.history where client_id = 'shop'"
        await until(lambda: value(db, query), seconds=40)
        assert begun.count("mallory") < 150
    assert said["client"] == "mallory"
