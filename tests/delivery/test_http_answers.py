"""HTTP answers: odd, malformed, endless, superfluous or late."""

import asyncio

import pytest

from pgsched.delivery.connection import LONGEST_BODY, LONGEST_HEAD, MOST_HEADERS
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.peer import OK, Wire, peer, saying
from tests.delivery.receiver import Request, answering, calling, deliver, execution, receiving

DONE = Succeeded(status_code=200)


def failure(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed)
    return outcome


async def twice(answer: bytes, method: str = "POST") -> tuple[list[Outcome], list[int]]:
    """Returns the outcomes and the connections of two calls that receive the same answer."""
    async with peer(saying(answer)) as target, calling() as channel:
        row, options = execution(target.url), Options(method=method)
        outcomes = [await channel.deliver(row, options, 5) for _ in range(2)]
    return outcomes, target.on


@pytest.mark.parametrize(
    "answer",
    [
        b"220 smtp.example ready\r\n\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/1.1 099 Early\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 1000 Late\r\n\r\n",
        b"HTTP/1.1 200 OK\rContent-Length: 2\r\r{}",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_a_non_http_answer_is_reported_as_malformed(answer: bytes) -> None:
    async with peer(saying(answer)) as target:
        outcome = failure(await deliver(target.url))
    assert outcome.retryable
    assert outcome.error.startswith("the response is malformed: ")
    assert target.on == [1]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
        b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9 \x01\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_an_unusual_answer_is_accepted_and_its_connection_is_reused(answer: bytes) -> None:
    outcomes, connections = await twice(answer)
    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)
    assert connections == [1, 1]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_doubtful_framing_is_accepted_but_closes_the_connection(
    answer: bytes,
) -> None:
    outcomes, connections = await twice(answer)
    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)
    assert connections == [1, 2]


@pytest.mark.parametrize(
    "surplus",
    [b"HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 5", b"HTTP/1.1 100 Continue\r\n\r\n", b"{}"],
)
async def test_surplus_bytes_are_not_taken_as_the_next_answer(surplus: bytes) -> None:
    outcomes, connections = await twice(OK + surplus)
    assert outcomes == [DONE, DONE]
    assert connections == [1, 2]


async def test_unexpected_data_closes_an_idle_connection() -> None:
    left = asyncio.Event()
    go_on = asyncio.Event()

    async def babbling(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK)
        await go_on.wait()
        await wire.say(b"HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n")
        await wire.closed()
        left.set()

    async with peer(babbling) as target, calling() as channel:
        assert await channel.deliver(execution(target.url), Options(), 5) == DONE
        go_on.set()
        await left.wait()
        assert await channel.deliver(execution(target.url), Options(), 5) == DONE
    assert target.on == [1, 2]


async def test_an_answer_may_arrive_byte_by_byte() -> None:
    answer = b"HTTP/1.1 503 Not now\r\nRetry-After: 30\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n"
    async with peer(saying(*(bytes([byte]) for byte in answer))) as target:
        outcome = failure(await deliver(target.url))
    assert outcome.error == "answered 503 Not now: busy"
    assert outcome.retry_after is not None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 103 Early Hints\r\nRetry-After: 30\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRetry-After: 30\r\n\r\n",
    ],
)
async def test_only_a_retry_after_header_in_the_final_head_counts(answer: bytes) -> None:
    outcomes, connections = await twice(answer)
    assert outcomes == [Failed(error="answered 503 Busy", retryable=True, status_code=503)] * 2
    assert connections == [1, 1]


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async def closing(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.0 500 Oh\r\n\r\n", b"it ", b"broke")

    async with peer(closing) as target:
        assert failure(await deliver(target.url)).error == "answered 500 Oh: it broke"


@pytest.mark.parametrize("body", [b"", b"{}"])
async def test_a_body_in_an_answer_to_a_head_request_is_ignored(body: bytes) -> None:
    outcomes, connections = await twice(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body, "HEAD")
    assert outcomes == [DONE, DONE]
    assert connections == [1, 2]


@pytest.mark.parametrize("answer", [b"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n"])
async def test_a_304_answer_has_no_body_whatever_its_content_length(answer: bytes) -> None:
    outcomes, connections = await twice(answer, "GET")
    assert [failure(outcome).status_code for outcome in outcomes] == [304, 304]
    assert connections == [1, 1]


async def flood(*, first: bytes, forever: bytes) -> tuple[Outcome, int]:
    """Returns the outcome of an endless answer and the number of bytes the peer could send."""
    sent, stopped = 0, asyncio.Event()

    async def flooding(wire: Wire) -> None:
        nonlocal sent
        await wire.request()
        try:
            await wire.say(first)
            while True:
                await wire.say(forever)
                sent += len(forever)
        finally:
            stopped.set()

    async with peer(flooding) as target, calling() as channel:
        outcome = await channel.deliver(execution(target.url), Options(), 30)
        await stopped.wait()
    return outcome, sent


@pytest.mark.parametrize(
    ("first", "forever", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 4096, f"its head is over {LONGEST_HEAD} bytes"),
        (b"HTTP/1.1 200 ", b"x" * 4096, f"its head is over {LONGEST_HEAD} bytes"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 64, f"its head is over {LONGEST_HEAD} bytes"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 64, f"its head is over {LONGEST_HEAD} bytes"),
    ],
)
async def test_an_endless_head_is_abandoned(first: bytes, forever: bytes, why: str) -> None:
    outcome, sent = await flood(first=first, forever=forever)
    assert outcome == Failed(error=f"the response is malformed: {why}", retryable=True)
    assert sent < 200 * LONGEST_HEAD


@pytest.mark.parametrize(
    ("first", "forever"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1024),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 4096),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 1024),
    ],
)
async def test_an_endless_body_is_cut_off_and_the_status_counts(first: bytes, forever: bytes) -> None:
    outcome, sent = await flood(first=first, forever=forever)
    assert outcome == DONE
    assert sent < 200 * LONGEST_BODY


async def test_a_head_with_too_many_headers_is_refused() -> None:
    async with peer(saying(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (MOST_HEADERS + 1) + b"\r\n")) as target:
        outcome = await deliver(target.url)
    error = f"the response is malformed: it has more than {MOST_HEADERS} headers"
    assert outcome == Failed(error=error, retryable=True)


async def test_a_large_head_within_the_limit_is_read() -> None:
    header = b"X-Long: " + b"x" * (LONGEST_HEAD - 100) + b"\r\n"
    body = b"y" * LONGEST_BODY
    answer = b"HTTP/1.1 500 Oh\r\n" + header + b"Content-Length: %d\r\n\r\n" % len(body) + body
    outcomes, connections = await twice(answer)
    assert all(failure(outcome).error.startswith("answered 500 Oh: yyy") for outcome in outcomes)
    assert connections == [1, 1]


async def test_a_trickling_answer_times_out_at_the_deadline() -> None:
    async def trickling(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            await wire.say(b"x")
            await asyncio.sleep(0.01)

    async with peer(trickling) as target:
        outcome = await deliver(target.url, deadline=0.2)
    assert outcome == Failed(error="no answer within 0.2 s", retryable=True)


async def test_a_trickling_body_delays_success_only_briefly() -> None:
    async def trickling(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
        while True:
            await wire.say(b"x")
            await asyncio.sleep(0.01)

    async with peer(trickling) as target, asyncio.timeout(10):
        assert await deliver(target.url, deadline=3600) == DONE


@pytest.mark.parametrize(
    "so_far",
    [b"", b"HTTP/1", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Len", b"HTTP/1.1 100 Continue\r\n\r\n"],
)
@pytest.mark.parametrize("reset", [False, True])
async def test_a_connection_closed_before_the_full_head_is_a_failure(so_far: bytes, reset: bool) -> None:
    async def ending(wire: Wire) -> None:
        await wire.request()
        await wire.say(so_far)
        if reset:
            wire.abort()

    async with peer(ending) as target:
        outcome = failure(await deliver(target.url))
    assert outcome.retryable
    assert outcome.error.startswith("the connection was closed ")
    assert target.on == [1]


@pytest.mark.parametrize(
    "so_far",
    [
        b"HTTP/1.1 500 Oh\r\nContent-Length: 10\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ],
)
async def test_the_status_counts_if_the_connection_closes_within_the_body(so_far: bytes) -> None:
    async def ending(wire: Wire) -> None:
        await wire.request()
        await wire.say(so_far)

    async with peer(ending) as target:
        outcome = failure(await deliver(target.url))
    assert (outcome.status_code, outcome.retryable) == (500, True)


async def test_an_early_answer_counts_but_its_connection_is_not_reused() -> None:
    async def impatient(wire: Wire) -> None:
        await wire.head()
        await wire.say(b"HTTP/1.1 413 Too much\r\nContent-Length: 0\r\n\r\n")
        await asyncio.Event().wait()

    async with peer(impatient) as target, calling() as channel:
        row = execution(target.url, payload=b'"' + b"x" * 30_000_000 + b'"')
        outcomes = [failure(await channel.deliver(row, Options(), 5)) for _ in range(2)]
    assert [outcome.status_code for outcome in outcomes] == [413, 413]
    assert target.on == [1, 2]


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b'{"id": 42}', b'{"id": 42}'),
        (b"thanks", b'"thanks"'),
        (b"\xff", '"\N{REPLACEMENT CHARACTER}"'.encode()),
        (b"", None),
        (b"1" * 20_000, b'"' + b"1" * 16_384 + b'"'),
    ],
)
async def test_an_answer_is_kept_only_with_the_keep_answer_option(body: bytes, kept: bytes | None) -> None:
    async with receiving(answering("201 Created", body)) as receiver:
        assert await deliver(receiver.url, Options(keep_answer=True)) == Succeeded(status_code=201, result=kept)
        assert await deliver(receiver.url, Options()) == Succeeded(status_code=201)


async def test_the_received_part_of_a_truncated_answer_is_kept() -> None:
    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n12")
        await writer.drain()
        writer.close()

    async with receiving(respond) as receiver:
        outcome = await deliver(receiver.url, Options(keep_answer=True))
    assert outcome == Succeeded(status_code=200, result=b'"12"')
