"""A turnstile lets a few callers through per turn of the event loop, and clients take turns."""

import asyncio

from pgsched.delivery.opener import Turnstile


async def passing(turnstile: Turnstile, client: str, passed: list[str]) -> None:
    await turnstile.enter(client)
    passed.append(client)


async def counts(turnstile: Turnstile, count: int) -> list[int]:
    """Returns how many callers pass in each turn until ``count`` callers have passed."""
    passed, found = list[str](), list[int]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(count)]
    while len(passed) < count:
        before = len(passed)
        await asyncio.sleep(0)
        found.append(len(passed) - before)
    await asyncio.gather(*tasks)
    return [number for number in found if number]


async def test_four_waiters_pass_in_each_turn() -> None:
    assert await counts(Turnstile(), 10) == [4, 4, 2]


async def test_a_client_with_one_call_passes_ahead_of_another_clients_backlog() -> None:
    turnstile, passed = Turnstile(), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "many", passed)) for _ in range(300)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(passing(turnstile, "one", passed)))
    await asyncio.gather(*tasks)
    assert passed.index("one") < 10


async def test_a_cancelled_waiter_takes_no_turn() -> None:
    turnstile, passed = Turnstile(), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(8)]
    await asyncio.sleep(0)
    tasks[5].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert passed == ["a"] * 7


async def test_a_lone_caller_never_waits() -> None:
    turnstile = Turnstile()
    for _ in range(3):
        entering = turnstile.enter("a")
        try:
            entering.send(None)
        except StopIteration:
            await asyncio.sleep(0)
        else:
            raise AssertionError("it waited")
