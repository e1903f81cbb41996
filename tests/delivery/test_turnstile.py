"""As many begin something in one turn of the event loop as leave it short; those who wait do so client by client."""

import asyncio

from pgsched.delivery.opener import Turnstile


async def passing(turnstile: Turnstile, client: str, passed: list[str]) -> None:
    await turnstile.enter(client)
    passed.append(client)


class Clock:
    """The time of each turn, as the test says."""

    def __init__(self, *turns: float) -> None:
        self._turns, self._now = iter(turns), 0.0

    def __call__(self) -> float:
        self._now += next(self._turns, 0.0)
        return self._now


async def counts(turnstile: Turnstile, count: int) -> list[int]:
    """How many pass in each turn until so many have passed."""
    passed, found = list[str](), list[int]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(count)]
    while len(passed) < count:
        before = len(passed)
        await asyncio.sleep(0)
        found.append(len(passed) - before)
    await asyncio.gather(*tasks)
    return [number for number in found if number]


async def test_more_pass_in_each_turn_as_long_as_turns_are_short() -> None:
    assert (await counts(Turnstile(longest=1.0, clock=Clock()), 200))[:6] == [1, 2, 4, 8, 16, 32]


async def test_one_passes_in_each_turn_however_long_turns_are() -> None:
    assert await counts(Turnstile(longest=1.0, clock=Clock(*[9.0] * 10)), 5) == [1] * 5


async def test_fewer_pass_after_a_long_turn() -> None:
    assert (await counts(Turnstile(longest=1.0, clock=Clock(0, 0, 0, 9.0, 0.7)), 40))[:5] == [1, 2, 4, 2, 2]


async def test_one_of_another_client_passes_before_hundreds_that_came_before_it() -> None:
    turnstile, passed = Turnstile(longest=0.0), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "many", passed)) for _ in range(300)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(passing(turnstile, "one", passed)))
    await asyncio.gather(*tasks)
    assert passed.index("one") < 10


async def test_who_is_cancelled_while_waiting_takes_nobodys_turn() -> None:
    turnstile, passed = Turnstile(longest=0.0), list[str]()
    tasks = [asyncio.create_task(passing(turnstile, "a", passed)) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert passed == ["a", "a", "a"]


async def test_who_comes_alone_never_waits() -> None:
    turnstile = Turnstile(longest=0.0)
    for _ in range(3):
        entering = turnstile.enter("a")
        try:
            entering.send(None)
        except StopIteration:
            await asyncio.sleep(0)
        else:
            raise AssertionError("it waited")
