"""The connection that carries a callback: reused, dropped, replaced, awaited or closed."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pgsched.delivery import pool
from pgsched.delivery.connection import Connection
from pgsched.delivery.exchange import Exchange
from pgsched.delivery.http import HttpChannel
from pgsched.delivery.pool import OriginSlots, PoolState
from pgsched.delivery.slots import NoFreeSlot
from pgsched.delivery.url import Origin
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.patience import Patient
from tests.delivery.peer import OK, Peer, Wire, peer, saying
from tests.delivery.receiver import TLS, calling, execution, server_tls

DONE = Succeeded(status_code=200)


async def call(
    channel: HttpChannel | Patient, target: Peer, path: str = "/", *, deadline: float = 5.0, **options: Any
) -> Outcome:
    return await channel.deliver(execution(target.url + path), Options(**options), deadline)


@asynccontextmanager
async def patiently(**changes: Any) -> AsyncIterator[Patient]:
    """A caller that waits until a connection is free."""
    async with calling(**changes) as channel:
        yield Patient(channel)


@asynccontextmanager
async def one_at_a_time() -> AsyncIterator[tuple[Peer, Patient, asyncio.Task[Outcome], asyncio.Event]]:
    """A host limited to one connection, the call that uses it, and the event that makes the host answer."""
    arrived, answer = asyncio.Event(), asyncio.Event()

    async def slow(wire: Wire) -> None:
        while True:
            await wire.request()
            arrived.set()
            await answer.wait()
            await wire.say(OK)

    async with peer(slow) as target, patiently(connections_per_host=1) as channel:
        first = asyncio.create_task(call(channel, target, "/first"))
        await arrived.wait()
        yield target, channel, first, answer


async def test_a_reused_connection_that_was_closed_is_replaced() -> None:
    async def serving_once(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        if wire.number == 1:
            await wire.request()  # and closes without answering
        else:
            await saying(OK)(wire)

    async with peer(serving_once) as target, calling() as channel:
        outcomes = [await call(channel, target, path) for path in ("/a", "/b")]
    assert outcomes == [DONE, DONE]
    assert target.requests == [(1, "/a"), (1, "/b"), (2, "/b")]


@pytest.mark.parametrize("reset", [False, True])
async def test_a_request_is_resent_at_most_once(reset: bool) -> None:
    async def unwilling(wire: Wire) -> None:
        await wire.request()
        if wire.number == 1:
            await wire.say(OK)
            await wire.request()
        if reset:
            wire.abort()

    async with peer(unwilling) as target, calling() as channel:
        assert await call(channel, target, "/a") == DONE
        outcome = await call(channel, target, "/b")
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert target.requests == [(1, "/a"), (1, "/b"), (2, "/b")]


async def test_a_call_with_one_attempt_never_uses_a_reused_connection() -> None:
    async def dying_at_work(wire: Wire) -> None:
        await wire.request()
        if wire.number == 1:
            await wire.say(OK)
            await wire.request()

    async with peer(dying_at_work) as target, calling(connections_per_host=1) as channel:
        assert await call(channel, target, "/a") == DONE
        outcome = await call(channel, target, "/b", max_attempts=1)
    assert isinstance(outcome, Failed)
    assert target.requests == [(1, "/a"), (2, "/b")]


async def test_mixed_calls_with_one_and_two_attempts_each_arrive_once() -> None:
    async with peer(saying(OK)) as target, patiently(connections_per_host=2) as channel:
        many = [call(channel, target, f"/{n}", max_attempts=1 + n % 2) for n in range(20)]
        assert await asyncio.gather(*many) == [DONE] * 20
    assert sorted(path for _, path in target.requests) == sorted(f"/{n}" for n in range(20))


async def test_a_request_is_not_resent_once_an_answer_has_begun() -> None:
    async def beginning(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await wire.request()
        await wire.say(b"H")

    async with peer(beginning) as target, calling() as channel:
        assert await call(channel, target) == DONE
        assert isinstance(await call(channel, target), Failed)
    assert target.on == [1, 1]


async def test_a_resent_request_keeps_its_slot() -> None:
    async def serving_once(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await wire.request()

    async with peer(serving_once) as target, patiently(connections_per_host=1) as channel:
        outcomes = await asyncio.gather(*[call(channel, target, f"/{n}") for n in range(4)])
    assert outcomes == [DONE] * 4
    assert [path for _, path in target.requests] == ["/0", "/1", "/1", "/2", "/2", "/3", "/3"]


async def test_calls_waiting_for_a_connection_are_served_in_order() -> None:
    async with peer(saying(OK)) as target, patiently(connections_per_host=1) as channel:
        await asyncio.gather(*[call(channel, target, f"/{n}") for n in range(20)])
    assert target.requests == [(1, f"/{n}") for n in range(20)]


async def test_a_cancelled_waiting_call_does_not_delay_the_next_call() -> None:
    async with one_at_a_time() as (target, channel, first, answer):
        leaving = asyncio.create_task(call(channel, target, "/leaving"))
        staying = asyncio.create_task(call(channel, target, "/staying"))
        await asyncio.sleep(0)
        leaving.cancel()
        answer.set()
        assert (await first, await staying) == (DONE, DONE)
    assert leaving.cancelled()
    assert [path for _, path in target.requests] == ["/first", "/staying"]


async def test_a_callback_without_a_free_connection_does_not_begin() -> None:
    arrived, answer = asyncio.Event(), asyncio.Event()

    async def slow(wire: Wire) -> None:
        await wire.request()
        arrived.set()
        await answer.wait()
        await wire.say(OK)

    async with peer(slow) as target, calling(connections_per_host=1) as channel:
        first = asyncio.create_task(call(channel, target, "/first"))
        await arrived.wait()
        with pytest.raises(NoFreeSlot):
            await call(channel, target, "/second")
        answer.set()
        assert await first == DONE
    assert [path for _, path in target.requests] == ["/first"]


async def test_the_deadline_starts_once_there_is_a_connection() -> None:
    async with one_at_a_time() as (target, channel, first, answer):
        second = asyncio.create_task(call(channel, target, "/second", deadline=0.3))
        await asyncio.sleep(0.5)  # longer than the deadline; this test is about elapsed time
        assert not second.done()
        answer.set()
        assert (await first, await second) == (DONE, DONE)


async def test_an_answer_received_while_the_loop_was_blocked_counts() -> None:
    async def slow(wire: Wire) -> None:
        await wire.request()
        asyncio.get_running_loop().call_soon(time.sleep, 1.0)  # a handler that blocks the loop past the deadline
        await wire.say(OK)

    async with peer(slow) as target, calling() as channel:
        assert await call(channel, target, deadline=0.4) == DONE


async def test_cancelling_a_callback_closes_its_connection() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    async def half_an_answer(wire: Wire) -> None:
        await wire.request()
        arrived.set()
        if wire.number > 1:
            await wire.say(OK)
            return
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        await wire.closed()
        left.set()

    async with peer(half_an_answer) as target, calling(connections_per_host=1) as channel:
        attempt = asyncio.create_task(call(channel, target))
        await arrived.wait()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await left.wait()
        assert await call(channel, target) == DONE
    assert target.on == [1, 2]


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_failed_connection_attempt_frees_its_slot(cancelled: bool) -> None:
    connected = asyncio.Event()

    async def deaf(wire: Wire) -> None:  # never answers the TLS handshake
        connected.set()
        await wire.closed()

    async with peer(deaf) as target, calling(connections_per_host=1) as channel:
        secure = target.url.replace("http:", "https:")
        for _ in range(2):
            connected.clear()
            attempt = asyncio.create_task(channel.deliver(execution(secure), Options(), 5 if cancelled else 0.2))
            await connected.wait()
            if cancelled:
                attempt.cancel()
            await asyncio.wait([attempt])
            assert attempt.cancelled() is cancelled
            if not cancelled:
                assert attempt.result() == Failed(error="no answer within 0.2 s", retryable=True)
    assert target.connections == 2


async def test_cancellation_at_any_point_frees_every_slot() -> None:
    async with peer(saying(OK)) as target, patiently(connections_per_host=2) as channel:
        for turns in range(40):
            attempts = [asyncio.create_task(call(channel, target)) for _ in range(5)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for attempt in attempts:
                attempt.cancel()
            await asyncio.wait(attempts)
        assert await asyncio.gather(*[call(channel, target) for _ in range(5)]) == [DONE] * 5


async def test_an_idle_connection_is_closed_before_its_peer_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_PARKED_SECONDS", 0.1)
    left = asyncio.Event()

    async def waiting(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await wire.closed()
        left.set()

    async with peer(waiting) as target, calling() as channel:
        assert await call(channel, target) == DONE
        await left.wait()


async def test_a_busy_connection_is_closed_at_the_end_of_its_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_LIFETIME_SECONDS", 0.0)
    async with peer(saying(OK)) as target, patiently(connections_per_host=1) as channel:
        assert await asyncio.gather(*[call(channel, target) for _ in range(3)]) == [DONE] * 3
    assert target.on == [1, 2, 3]


async def test_a_new_connection_takes_the_longest_idle_connections_slot() -> None:
    left = asyncio.Event()

    async def serving(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await wire.closed()
        left.set()

    async with peer(serving) as old, peer(saying(OK)) as new, calling(concurrency=1) as channel:
        assert await call(channel, old) == DONE
        assert await call(channel, new) == DONE
        await left.wait()


@pytest.mark.parametrize("tls", [False, True])
async def test_closing_the_channel_closes_every_connection(tls: bool) -> None:
    left = asyncio.Event()

    async def serving(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await wire.closed()
        left.set()

    trusting_context = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with peer(serving, tls=server_tls() if tls else None) as target:
        async with calling(tls=trusting_context) as channel:
            url = target.url.replace("http:", "https:") if tls else target.url
            assert await channel.deliver(execution(url), Options(), 5) == DONE
        await left.wait()


async def test_waiting_for_answers_uses_no_tasks() -> None:
    arrived, count, never = asyncio.Event(), 0, asyncio.Event()

    async def silent(wire: Wire) -> None:
        nonlocal count
        await wire.request()
        count += 1
        if count == 20:
            arrived.set()
        await never.wait()

    async with peer(silent) as target, calling(connections_per_host=20) as channel:
        attempts = {asyncio.create_task(call(channel, target)) for _ in range(20)}
        before = asyncio.all_tasks()
        await arrived.wait()
        ours = [task for task in asyncio.all_tasks() - before if "pgsched/delivery/" in repr(task)]
        for attempt in attempts:
            attempt.cancel()
        await asyncio.wait(attempts)
    assert ours == []


async def test_bytes_received_before_the_request_are_not_taken_as_its_answer() -> None:
    left = asyncio.Event()

    async def rash(wire: Wire) -> None:
        await wire.say(OK)
        await wire.closed()
        left.set()

    loop = asyncio.get_running_loop()
    async with peer(rash) as target:
        state = PoolState(loop)
        host = OriginSlots(Origin(False, "127.0.0.1", target.port), state, most=1)
        exchange = Exchange(b"", loop.create_future(), bodiless=False, once=False, deadline=5, expires=loop.time() + 5)
        host.begin(exchange, "shop")
        _, connection = await loop.create_connection(
            lambda: Connection(host, loop, lifetime=60), "127.0.0.1", target.port
        )
        await left.wait()
        exchange.turn = loop.create_future()
        connection.start(exchange)
    assert (exchange.status, state.hosts) == (0, {})
    assert "closed before a response" in str(exchange.error)
