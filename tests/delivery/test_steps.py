"""Each step of a handler, and of what it has the loop do, is charged to its client, and waits for its turn where that
client is held."""

import asyncio
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pgsched.delivery.accounts import Account, Accounts
from pgsched.delivery.steps import ACCOUNT, Steps, begin, meter

Handler = Callable[[], Coroutine[Any, Any, Any]]


def block() -> None:
    time.sleep(0.03)


@pytest.fixture
async def accounts() -> Accounts:
    """Of a process that several clients share."""
    made = Accounts()
    made.wanted, made.felt = True, 0.0
    meter()
    return made


@pytest.fixture
async def account(accounts: Accounts) -> Account:
    return accounts.of("mallory")


async def run(account: Account, handler: Handler) -> Any:
    """As a lane does."""
    account.accounts.feel(0.0, time.thread_time())
    token = ACCOUNT.set(account)
    try:
        found = begin(account, handler(), "python:x")
        return await found if isinstance(found, Steps) else found
    finally:
        ACCOUNT.reset(token)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  it is a matter of the loop's turns
            await asyncio.sleep(0.001)


async def in_its_first_step() -> None:
    block()


async def after_a_wait() -> None:
    await asyncio.sleep(0)
    block()


async def in_a_task() -> None:
    await asyncio.create_task(after_a_wait())


async def in_a_task_of_a_task() -> None:
    await asyncio.create_task(in_a_task())


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(after_a_wait())


async def in_a_call() -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def call() -> None:
        block()
        done.set()

    loop.call_soon(call)
    await done.wait()


async def in_a_call_for_later() -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    loop.call_later(0.001, time.sleep, 0.03)
    loop.call_at(loop.time() + 0.002, done.set)
    await done.wait()


async def when_told_of_an_end() -> None:
    future = asyncio.get_running_loop().create_future()
    future.add_done_callback(lambda _: block())
    future.set_result(None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    "handler",
    [
        in_its_first_step,
        after_a_wait,
        in_a_task,
        in_a_task_of_a_task,
        in_a_group,
        in_a_call,
        in_a_call_for_later,
        when_told_of_an_end,
    ],
)
async def test_a_client_is_charged_wherever_its_handler_blocks(account: Account, handler: Handler) -> None:
    await run(account, handler)
    assert account.owed >= 0.02
    assert account.target == "python:x"


async def test_what_a_handler_leaves_behind_is_charged_too(account: Account) -> None:
    left = []

    async def leave() -> None:
        left.append(asyncio.create_task(after_a_wait()))

    await run(account, leave)
    before = account.owed
    await left[0]
    assert account.owed - before >= 0.02


async def test_what_others_have_the_loop_do_is_charged_to_nobody(accounts: Accounts, account: Account) -> None:
    await run(account, in_its_first_step)
    before = account.owed
    await asyncio.create_task(after_a_wait())
    assert account.owed == before


async def test_where_there_is_one_client_nobody_is_charged(accounts: Accounts, account: Account) -> None:
    accounts.wanted = False
    await run(account, after_a_wait)
    assert not account.owed


async def test_a_handler_answers_and_raises_as_it_would_alone(account: Account) -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("as always")

    assert await run(account, answer) == 42
    with pytest.raises(ValueError, match="as always"):
        await run(account, fail)


async def test_handlers_of_a_client_that_is_held_go_on_one_at_a_time(accounts: Accounts, account: Account) -> None:
    accounts.beat(0.0, wanted=True, in_hand=())
    account.held, went_on = True, 0

    async def step() -> None:
        nonlocal went_on
        went_on += 1
        accounts.charge(account, 10.0)

    tasks = [asyncio.create_task(run(account, step)) for _ in range(10)]
    await until(lambda: went_on == 1)
    for _ in range(100):
        await asyncio.sleep(0)
    assert went_on == 1
    account.owed = 0.0
    await until(lambda: went_on == 2)
    accounts.open()
    account.owed = 0.0
    await asyncio.gather(*tasks)
    assert went_on == 10


async def test_a_cancellation_reaches_a_handler_in_its_turn(accounts: Accounts, account: Account) -> None:
    heard = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    task = asyncio.create_task(run(account, wait))
    await asyncio.sleep(0)
    accounts.charge(account, 10.0)
    task.cancel()
    for _ in range(100):
        await asyncio.sleep(0)
    assert not heard
    account.owed = 0.0
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["cancelled"]


async def test_a_call_that_is_cancelled_while_it_waits_for_its_turn_is_not_made(
    accounts: Accounts, account: Account
) -> None:
    called, handles = list[str](), list[asyncio.Handle]()

    async def have_it_called() -> None:
        handles.append(asyncio.get_running_loop().call_soon(called.append, "in vain"))
        handles.append(asyncio.get_running_loop().call_soon(called.append, "called"))

    await run(account, have_it_called)
    accounts.charge(account, 10.0)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not called
    handles[0].cancel()
    account.owed = 0.0
    await until(lambda: bool(called))
    assert called == ["called"]


def test_an_account_is_forgotten_once_its_client_owes_nothing_and_has_nothing_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accounts = Accounts()
    known = weakref.ref(accounts.of("mallory"))
    accounts.charge(accounts.of("mallory"), 1.0)
    accounts.beat(0.0, wanted=True, in_hand=())
    assert known() is accounts.of("mallory")
    monkeypatch.setattr("pgsched.delivery.accounts._REMEMBERED", -1.0)
    accounts.forgive(10.0)
    accounts.beat(1.0, wanted=True, in_hand=())
    assert known() is None
