import asyncio
import socket
import ssl
from typing import Any

import pytest

from pgsched.delivery.connection import LONGEST_BODY
from pgsched.domain.attempt_outcome import LONGEST_ERROR, Failed, Outcome, Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.patience import Patient
from tests.delivery.receiver import TLS, Request, answering, calling, deliver, execution, receiving, server_tls


def failure(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed)
    return outcome


async def test_the_body_arrives_exactly_as_scheduled() -> None:
    body = '{"näme": "Straße",  "n": 1.50}'.encode()
    async with receiving() as receiver:
        await deliver(f"{receiver.url}/settle?a=%2F&b=ü".replace("ü", "%C3%BC"), payload=body)
    [request] = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/settle?a=%2F&b=%C3%BC", body)


async def test_a_callback_without_a_payload_has_no_body_or_content_type() -> None:
    async with receiving() as receiver:
        await deliver(receiver.url, payload=None)
    [request] = receiver.requests
    assert request.headers["content-length"] == "0"
    assert "content-type" not in request.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
async def test_the_scheduled_method_is_used(method: str) -> None:
    async with receiving() as receiver:
        outcome = await deliver(receiver.url, Options(method=method))
    [request] = receiver.requests
    assert request.method == method
    assert outcome == Succeeded(status_code=200)
    assert bool(request.body) == (method not in ("GET", "HEAD"))


async def test_a_body_over_a_mebibyte_arrives_whole() -> None:
    body = b'"' + b"x" * 3_000_000 + b'"'
    async with receiving() as receiver:
        outcome = await deliver(receiver.url, payload=body)
    assert outcome == Succeeded(status_code=200)
    assert receiver.requests[0].body == body


async def test_a_failure_keeps_the_status_and_the_targets_message() -> None:
    async with receiving(answering("503 Service Unavailable", b"down for repair")) as receiver:
        outcome = failure(await deliver(receiver.url))
    assert (outcome.status_code, outcome.retryable) == (503, True)
    assert outcome.error == "answered 503 Service Unavailable: down for repair"


async def test_a_failures_retry_after_header_is_parsed() -> None:
    async with receiving(answering("429 Too Many Requests", b"", "Retry-After: 90")) as receiver:
        outcome = failure(await deliver(receiver.url))
    assert outcome.retry_after is not None
    assert outcome.retry_after.total_seconds() == 90


async def test_redirects_are_not_followed() -> None:
    async with receiving(answering("302 Found", b"", "Location: /elsewhere")) as receiver:
        outcome = failure(await deliver(receiver.url))
    assert (outcome.status_code, outcome.retryable) == (302, False)
    assert "redirects are not followed" in outcome.error
    assert len(receiver.requests) == 1


async def test_consecutive_callbacks_reuse_one_connection() -> None:
    async with receiving() as receiver, calling() as channel:
        for _ in range(5):
            await channel.deliver(execution(receiver.url), Options(), 5)
    assert [request.connection for request in receiver.requests] == [1] * 5


async def test_a_host_has_no_more_connections_than_its_limit() -> None:
    async with receiving() as receiver, calling(connections_per_host=2) as channel:
        row, caller = execution(receiver.url), Patient(channel)
        outcomes = await asyncio.gather(*[caller.deliver(row, Options(), 5) for _ in range(20)])
    assert outcomes == [Succeeded(status_code=200)] * 20
    assert receiver.connections == 2


async def test_a_missing_answer_is_a_retryable_failure() -> None:
    never = asyncio.Event()

    async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
        await never.wait()

    async with receiving(silent) as receiver:
        outcome = await deliver(receiver.url, deadline=0.1)
        never.set()
    assert outcome == Failed(error="no answer within 0.1 s", retryable=True)


async def test_a_stalled_body_after_a_success_status_is_a_success() -> None:
    never = asyncio.Event()

    async def stalling(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        await never.wait()

    async with receiving(stalling) as receiver:
        outcome = await deliver(receiver.url, deadline=0.5)
        never.set()
    assert outcome == Succeeded(status_code=200)


async def test_an_endless_error_answer_is_read_only_to_the_stored_length() -> None:
    written = 0

    async def endless(request: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await writer.drain()
            written += 0x4000

    async with receiving(endless) as receiver:
        outcome = failure(await deliver(receiver.url))
    assert outcome.status_code == 500
    assert len(outcome.error) <= LONGEST_ERROR + 100
    assert written < 200 * LONGEST_BODY


async def test_an_answer_too_long_to_read_succeeds_and_closes_the_connection() -> None:
    async with receiving(answering("200 OK", b"x" * 500_000)) as receiver, calling() as channel:
        for _ in range(2):
            assert await channel.deliver(execution(receiver.url), Options(), 5) == Succeeded(status_code=200)
    assert [request.connection for request in receiver.requests] == [1, 2]


async def test_a_dropped_connection_is_a_retryable_failure() -> None:
    async def dropping(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with receiving(dropping) as receiver:
        assert failure(await deliver(receiver.url)).retryable
    assert len(receiver.requests) == 1


async def test_a_refused_connection_is_a_retryable_failure() -> None:
    async with receiving() as receiver:
        url = receiver.url
    outcome = failure(await deliver(url))
    assert outcome.retryable
    assert "cannot connect" in outcome.error


async def test_a_non_http_answer_is_a_retryable_failure() -> None:
    async def babbling(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 smtp.example ready\r\n\r\n")

    async with receiving(babbling) as receiver:
        assert failure(await deliver(receiver.url)).retryable


async def test_an_unresolvable_name_is_a_retryable_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert failure(await deliver("http://nowhere.example/")).retryable


async def test_a_cancelled_delivery_raises_cancelled_error() -> None:
    arrived = asyncio.Event()
    never = asyncio.Event()

    async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await never.wait()

    async with receiving(silent) as receiver:
        attempt = asyncio.create_task(deliver(receiver.url))
        await arrived.wait()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        never.set()


@pytest.mark.parametrize(
    "target",
    [
        "http://256.1.1.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://[1:2]/",
        "http://",
        "https://a..b/",
        "https://a../",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 127}example/",
    ],
)
async def test_an_invalid_url_fails_for_good(target: str) -> None:
    assert not failure(await deliver(target)).retryable


async def test_an_untrusted_certificate_is_a_retryable_failure() -> None:
    async with receiving(tls=server_tls()) as receiver:
        outcome = failure(await deliver(receiver.url.replace("http:", "https:")))
    assert outcome.retryable
    assert "CERTIFICATE_VERIFY_FAILED" in outcome.error
    assert receiver.requests == []


async def test_a_custom_certificate_authority_and_a_client_certificate_are_used() -> None:
    tls = ssl.create_default_context(cafile=TLS / "authority.pem")
    tls.load_cert_chain(TLS / "client.pem")
    async with receiving(tls=server_tls(ask_for_certificate=True)) as receiver, calling(tls=tls) as channel:
        row = execution(f"https://localhost:{receiver.port}/")
        assert await channel.deliver(row, Options(), 5) == Succeeded(status_code=200)
