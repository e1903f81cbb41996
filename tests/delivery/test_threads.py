"""Threads whose functions outlast their attempts."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from pgsched.delivery import threads as module
from pgsched.delivery.own_context import own_context
from pgsched.delivery.slots import NoFreeSlot
from pgsched.delivery.threads import Growth, Threads


class Stuck:
    """Functions that do not return until they are released."""

    def __init__(self, threads: Threads) -> None:
        self.threads, self.begun, self.go = threads, 0, threading.Event()

    async def begin(self, client: str = "shop") -> None:
        """Begins a function whose attempt is abandoned while it runs. Raises NoFreeSlot."""
        begun = threading.Event()

        def work() -> None:
            begun.set()
            self.go.wait(60)

        self.threads.beat()
        self.threads.take(client)
        attempt = asyncio.create_task(self.threads.call(client, work, own_context()))
        await asyncio.to_thread(begun.wait, 30)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        self.begun += 1

    async def fill(self, client: str = "shop") -> int:
        """Begins functions until no slot is free. Returns how many it began."""
        before = self.begun
        while self.threads.free_for(client):
            await self.begin(client)
        with pytest.raises(NoFreeSlot):
            await self.begin(client)
        return self.begun - before


@pytest.fixture
async def stuck() -> AsyncIterator[Stuck]:
    made = Stuck(Threads(4, is_shared=lambda: True))
    yield made
    made.go.set()
    made.threads.shutdown()


async def test_abandoned_threads_are_also_shared_among_clients(stuck: Stuck) -> None:
    assert await stuck.fill("mallory") == 6 + 3
    assert stuck.threads.free_for("shop") == 1
    assert await stuck.fill("shop") == 1 + 1
    assert stuck.threads.why("mallory") is not None
    assert stuck.threads.why("bank") is None


async def test_a_function_that_returns_frees_its_thread(stuck: Stuck) -> None:
    await stuck.fill("mallory")
    back = asyncio.Event()
    stuck.threads.freed = lambda _: back.set() if not stuck.threads.taken else None
    stuck.go.set()
    await asyncio.wait_for(back.wait(), 30)
    assert stuck.threads.free == 4


async def test_a_process_whose_threads_never_return_is_reported_for_replacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    spent = asyncio.Event()
    stuck = Stuck(Threads(2, spent=spent.set))
    try:
        for _ in range(5):
            await stuck.begin()
        await asyncio.sleep(0.01)
        assert not spent.is_set()
        await stuck.begin()
        await asyncio.wait_for(spent.wait(), 30)
    finally:
        stuck.go.set()
        stuck.threads.shutdown()


def test_a_clients_thread_limit_grows_step_by_step() -> None:
    growth = Growth()
    assert growth.most("mallory") == 2
    growth.look({"mallory": 2}, {"mallory": 0.0}, 0.05, 0.01)
    assert growth.most("mallory") == 4
    assert growth.most("shop") == 2


def test_the_thread_limit_shrinks_while_functions_use_the_cpu() -> None:
    growth = Growth()
    growth.look({"mallory": 4, "shop": 9}, {"mallory": 0.03, "shop": 0.001}, 0.05, 0.04)
    assert growth.most("mallory") == 3
    assert growth.most("shop") == 11
    growth.look({}, {"mallory": 0.03}, 0.1, 0.05)
    assert growth.most("mallory") == 2


def test_the_thread_limit_grows_for_code_that_releases_the_gil() -> None:
    growth = Growth()
    growth.look({"mallory": 4}, {"mallory": 0.15}, 0.05, 0.16)
    assert growth.most("mallory") == 6


async def test_a_lone_client_may_use_all_threads() -> None:
    threads = Threads(64)
    threads.beat()
    assert threads.free_for("mallory") == 64
    threads.shutdown()


async def test_processor_time_is_forgotten_once_a_client_is_idle(stuck: Stuck) -> None:
    await stuck.begin("mallory")
    stuck.threads.take("shop")
    await stuck.threads.call("shop", lambda: None, own_context())
    assert stuck.threads.processor_time().keys() == {"shop", "mallory"}
    stuck.threads.beat()
    assert stuck.threads.processor_time().keys() == {"mallory"}
