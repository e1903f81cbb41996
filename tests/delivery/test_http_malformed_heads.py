"""Malformed heads that real targets send: their status counts, and the target is called only once."""

import asyncio

import pytest

from pgsched.delivery.connection import LONGEST_HEAD
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.peer import Wire, peer, saying
from tests.delivery.receiver import calling, deliver, execution

DONE = Succeeded(status_code=200)
ODD = [
    b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    b"Content-Length: 2, 2\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
    b"X-Server : shop\r\nContent-Length : 2\r\n\r\n{}",
    b"X Server: shop\r\nContent-Length: 2\r\n\r\n{}",
    b"X-S\xc3\xa9rver: shop\r\nContent-Length: 2\r\n\r\n{}",
    b"X-Server: shop\rX\r\nContent-Length: 2\r\n\r\n{}",
    b": shop\r\nContent-Length: 2\r\n\r\n{}",
    b"no colon here\r\nContent-Length: 2\r\n\r\n{}",
    b"Content-Length: \r\n\r\n",
    b"Content-Length: two\r\n\r\n",
    b"Content-Length: +2\r\n\r\n{}",
    b"Content-Length: -2\r\n\r\n",
    b"Content-Length: 99999999999999999999999\r\n\r\n",
]
LINES = [b"HTTP/1.1  200 OK", b"HTTP/1.1 200\tOK", b"HTTP/2 200", b"http/1.1 200 OK", b"HTTP/1.7 200 OK"]
HEADS = [b"HTTP/1.1 200 OK\r\n" + rest for rest in ODD] + [line + b"\r\nContent-Length: 2\r\n\r\n{}" for line in LINES]


@pytest.mark.parametrize("answer", HEADS)
async def test_a_malformed_head_still_gives_its_status_but_ends_the_connection(answer: bytes) -> None:
    async def answering_and_closing(wire: Wire) -> None:
        await wire.request()
        await wire.say(answer)

    async with peer(answering_and_closing) as target, calling() as channel:
        assert [await channel.deliver(execution(target.url), Options(), 5) for _ in range(2)] == [DONE, DONE]
    assert target.on == [1, 2]


@pytest.mark.parametrize("answer", HEADS)
async def test_a_malformed_head_may_arrive_byte_by_byte(answer: bytes) -> None:
    async with peer(saying(*(bytes([byte]) for byte in answer))) as target:
        assert await deliver(target.url) == DONE
    assert target.on == [1]


async def test_interim_answers_before_a_malformed_head_are_ignored() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nX Link: a\r\nRetry-After: 9\r\n\r\n"
    async with peer(saying(early + b"HTTP/1.1 503 Busy\r\nX Y: z\r\nContent-Length: 0\r\n\r\n")) as target:
        assert await deliver(target.url) == Failed(error="answered 503 Busy", retryable=True, status_code=503)


async def test_a_failure_with_a_malformed_head_keeps_its_reason_and_retry_after() -> None:
    head = b"HTTP/1.1 503 Not now\r\nRetry-After : 30\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n"
    async with peer(saying(head + b"busy")) as target:
        outcome = await deliver(target.url)
    assert isinstance(outcome, Failed)
    assert outcome.error == "answered 503 Not now"
    assert outcome.retry_after is not None
    assert outcome.retry_after.total_seconds() == 30


async def test_surplus_bytes_are_not_taken_as_the_next_answer() -> None:
    surplus = b"HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n"
    odd = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}"
    async with peer(saying(odd + surplus)) as target, calling() as channel:
        assert [await channel.deliver(execution(target.url), Options(), 5) for _ in range(2)] == [DONE, DONE]
    assert target.on == [1, 2]


@pytest.mark.parametrize(
    ("forever", "why"),
    [
        (b"x" * 4096, f"its head is over {LONGEST_HEAD} bytes"),
        (b"X Y: z\r\n" * 16, f"its head is over {LONGEST_HEAD} bytes"),
    ],
)
async def test_an_endless_malformed_head_is_abandoned(forever: bytes, why: str) -> None:
    stopped = asyncio.Event()

    async def flooding(wire: Wire) -> None:
        await wire.request()
        try:
            await wire.say(b"HTTP/1.1 200 OK\r\nX Y: z\r\n")
            while True:
                await wire.say(forever)
        finally:
            stopped.set()

    async with peer(flooding) as target, calling() as channel:
        outcome = await channel.deliver(execution(target.url), Options(), 30)
        await stopped.wait()
    assert outcome == Failed(error=f"the response is malformed: {why}", retryable=True)


async def test_a_malformed_head_cut_off_early_is_a_failure() -> None:
    async def ending(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\nX Y: z\r\n")

    async with peer(ending) as target:
        outcome = await deliver(target.url)
    assert isinstance(outcome, Failed)
    assert outcome.error == "the connection was closed in the middle of the response head"


@pytest.mark.parametrize(
    "wait",
    [
        b"99999999999999999999999999999999",
        b"1e400",
        b"Fri, 31 Dec 1999999999999999999999999999 23:59:59 GMT",
        b"Fri, 01 Jan 2001 23:59:59 +9999999999999999999999",
        b"Fri, 31 Dec 9999 23:59:59 -2359",
        b"Fri, 01 Jan 0001 00:00:00 +2359",
        b"9" * 20_000,
        b"Fri, " + b"9" * 20_000 + b" Jan 2001 00:00:00 GMT",
        b"\xb2",
    ],
)
@pytest.mark.parametrize("status", [200, 503])
async def test_an_invalid_retry_after_does_not_change_the_outcome(status: int, wait: bytes) -> None:
    answer = b"HTTP/1.1 %d X\r\nRetry-After: %b\r\nContent-Length: 0\r\n\r\n" % (status, wait)
    async with peer(saying(answer)) as target:
        outcome = await deliver(target.url)
    assert outcome == DONE if status == 200 else isinstance(outcome, Failed) and outcome.status_code == 503
