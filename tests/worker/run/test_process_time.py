"""A client whose handlers keep the process from everything else has a part of its time, and the others go on."""

import time

import pytest

from pgsched.delivery.accounts import PERIOD, Accounts
from pgsched.delivery.handlers import Context
from pgsched.delivery.python import App
from pgsched.events import Events
from pgsched.worker.run.process_time import ProcessTime, TimeUsed
from pgsched.worker.run.shares import Shares
from tests.delivery.receiver import execution
from tests.worker.conftest import Connection, Recorder, Running, until, until_history, value


class Held:
    """Accounts of a process that is shared, and who owes how much."""

    def __init__(self) -> None:
        self.shares = Shares(lanes=100, is_wanted=lambda: True, relieved=lambda: None)
        self.shares.look({})
        self.accounts = Accounts(self.shares.hold_back)
        self.time = ProcessTime(Events(), self.accounts, functions=dict)
        self.others_come()

    def others_come(self) -> None:
        """Somebody else has something in the process, now."""
        self.accounts.charge(self.accounts.of("shop"), 1e-9)
        self.accounts.charge(self.accounts.of("mallory"), 1e-9)
        self.accounts.beat(time.monotonic(), wanted=True, in_hand=())
        self.accounts.forgive(0.001)

    def charge(self, client: str, seconds: float) -> None:
        self.accounts.charge(self.accounts.of(client), seconds)

    def step(self, client: str, passed: float, *, felt: float | None = None, ended: float = 0.0) -> None:
        """One that took so long, and for so long as was felt beside it."""
        before = self.accounts.felt
        self.accounts.feel(0.0, time.thread_time())
        self.accounts.felt += passed if felt is None else felt
        self.accounts.count(self.accounts.of(client), ended or self.accounts.turned_at, passed, before)

    def threads(self, passed: float, *, loop: float = 0.0, others: float = 0.0, **used: float) -> None:
        before, after = TimeUsed(0.0, 0.0, 0.0, {}), TimeUsed(passed, loop, loop + others, used)
        if after.is_contended(before):
            self.time.count(before, after)

    @property
    def owed(self) -> dict[str, float]:
        found = {client: round(account.owed, 3) for client, account in self.accounts._owing.items()}
        return {client: owed for client, owed in found.items() if owed}


@pytest.fixture
def held() -> Held:
    return Held()


def test_a_step_is_charged_with_all_the_time_that_it_took(held: Held) -> None:
    held.step("mallory", 0.02)
    held.step("mallory", 0.03)
    assert held.owed == {"mallory": 0.05}


def test_a_step_during_which_the_machine_stands_is_charged_with_what_was_felt_of_it(held: Held) -> None:
    held.step("shop", 0.5, felt=0.01)
    assert held.owed == {"shop": round(PERIOD + 0.01, 3)}


def test_a_step_that_keeps_the_interpreter_s_lock_is_charged_though_nobody_felt_it(held: Held) -> None:
    account, felt = held.accounts.of("mallory"), held.accounts.felt
    held.accounts.feel(0.0, time.thread_time() - 0.4)
    held.accounts.count(account, 0.0, 0.4, felt)
    assert held.owed == {"mallory": 0.4}


def test_short_steps_are_charged_only_while_the_loop_is_late(held: Held) -> None:
    held.step("shop", 0.005)
    assert not held.owed
    held.step("shop", 0.005, ended=held.accounts.turned_at + 0.2)
    assert held.owed == {"shop": 0.005}


def test_who_computes_in_threads_is_charged_and_not_whose_step_waits_for_the_lock(held: Held) -> None:
    held.threads(0.2, loop=0.001, others=0.19, mallory=0.18, another=0.02)
    held.accounts.contended = True
    held.step("shop", 0.05)
    assert held.owed == {"mallory": 0.18, "another": 0.02}


def test_threads_of_many_processors_are_charged_for_no_more_than_has_passed(held: Held) -> None:
    held.threads(0.2, others=1.6, mallory=1.2, another=0.4)
    assert held.owed == {"mallory": 0.15, "another": 0.05}


def test_a_client_begins_nothing_until_enough_is_forgiven(held: Held) -> None:
    held.charge("mallory", 0.4)
    held.charge("shop", 0.09)
    assert held.shares.over == {"mallory"}
    assert held.shares.free_for("mallory") == 0
    assert held.shares.free_for("shop") > 0
    assert held.shares.why("mallory") is not None
    held.accounts.forgive(1.8)
    assert held.shares.over == {"mallory"}
    held.accounts.forgive(0.2)
    assert not held.shares.over
    assert held.shares.free_for("mallory") > 0


def test_what_is_forgiven_is_shared_by_those_who_are_over(held: Held) -> None:
    held.charge("mallory", 0.4)
    held.charge("malcolm", 0.4)
    held.accounts.forgive(2.0)
    assert held.shares.over == {"mallory", "malcolm"}


def test_all_is_forgiven_at_once_where_nobody_else_has_anything_in_the_process() -> None:
    accounts = Accounts()
    accounts.charge(accounts.of("mallory"), 0.4)
    accounts.beat(0.0, wanted=True, in_hand=[execution("python:work", client_id="mallory")])
    accounts.forgive(0.02)
    assert not accounts.over


def test_nobody_is_kept_for_minutes_by_what_one_handler_did(held: Held) -> None:
    held.charge("mallory", 40.0)
    held.accounts.forgive(25.0)
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
        await db.execute(MANY.encode(), ["shop", "python:quick", None, 1])
        await db.execute(MANY.encode(), ["mallory", "python:block", options, 40])
        said = await recorder.wait_for("loop.shared")
        for _ in range(10):
            await db.execute(MANY.encode(), ["shop", "python:quick", None, 1])
        query = "select count(*) = 11 from pgsched.history where client_id = 'shop'"
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


async def test_functions_that_compute_in_threads_leave_others_their_part(db: Connection, running: Running) -> None:
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
        await db.execute(MANY.encode(), ["shop", "python:compute", None, 1])
        await db.execute(MANY.encode(), ["mallory", "python:compute", None, 200])

        async def have_begun() -> bool:
            return begun.count("mallory") > 3

        await until(have_begun)
        await db.execute(MANY.encode(), ["shop", "python:compute", None, 1])
        query = "select count(*) = 2 from pgsched.history where client_id = 'shop'"
        await until(lambda: value(db, query), seconds=40)
        assert begun.count("mallory") < 150
