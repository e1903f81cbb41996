"""So many begin something in one turn of the event loop, and those who wait do so client by client."""

import asyncio

from pgsched.delivery.opener import Turnstile


async def passing(turnstile: Turnstile, client: str, passed: list[str]) -> None:
    await turnstile.enter(client)
    passed.append(client)


async def test_no_more_pass_in_a_turn_than_may() -> None:
    turnstile, passed = Turnstile(3), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(10)]
    counts = []
    while len(passed) < 10:
        await asyncio.sleep(0)
        counts.append(len(passed))
    await asyncio.gather(*tasks)
    assert max(after - before for before, after in zip([0, *counts], counts, strict=False)) == 3


async def test_one_of_another_client_passes_before_hundreds_that_came_before_it() -> None:
    turnstile, passed = Turnstile(2), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "many", passed)) for _ in range(300)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(passing(turnstile, "one", passed)))
    await asyncio.gather(*tasks)
    assert passed.index("one") < 10


async def test_who_is_cancelled_while_waiting_takes_nobodys_turn() -> None:
    turnstile, passed = Turnstile(1), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert passed == ["a", "a", "a"]


async def test_who_comes_alone_never_waits() -> None:
    turnstile = Turnstile(1)
    for _ in range(3):
        entering = turnstile.enter("a")
        try:
            entering.send(None)
        except StopIteration:
            await asyncio.sleep(0)
        else:
            raise AssertionError("it waited")
