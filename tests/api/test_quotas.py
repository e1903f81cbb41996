"""Fair shares are counted per client, not per key or per set of clients."""

import asyncio

from pgsched.api.quotas import FairShares

A, B, BOTH, OTHER = frozenset("a"), frozenset("b"), frozenset("ab"), frozenset("ac")


async def test_a_client_has_one_fair_share_across_all_its_api_keys() -> None:
    shares = FairShares(10, 7)
    for payers in (A, BOTH, OTHER, A, BOTH, OTHER, A):
        await shares.take(payers)
    waiting = [asyncio.create_task(shares.take(payers)) for payers in (A, BOTH, OTHER) for _ in range(20)]
    await asyncio.sleep(0)
    for _ in range(3):
        await shares.take(B)
    assert not any(task.done() for task in waiting)
    for task in waiting:
        task.cancel()


async def test_a_freed_slot_goes_to_the_client_that_uses_the_fewest_slots() -> None:
    shares = FairShares(2, 2)
    await shares.take(A)
    await shares.take(A)
    took = list[str]()

    async def take(payers: frozenset[str], name: str) -> None:
        await shares.take(payers)
        took.append(name)

    tasks = [asyncio.create_task(take(A, f"a{number}")) for number in range(5)]
    tasks.append(asyncio.create_task(take(B, "b")))
    await asyncio.sleep(0)
    shares.give_back(A)
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert took == ["b"]
    for task in tasks:
        task.cancel()


async def test_a_slot_given_to_a_cancelled_request_is_freed() -> None:
    shares = FairShares(1, 1)
    await shares.take(A)
    task = asyncio.create_task(shares.take(B))
    await asyncio.sleep(0)
    shares.give_back(A)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.wait_for(shares.take(A), 5)


def test_one_client_cannot_take_every_slot() -> None:
    shares = FairShares(200, 200)
    assert sum(shares.take_now(A) for _ in range(200)) == 150
    assert sum(shares.take_now(frozenset({f"c{number}"})) for number in range(50)) == 50
