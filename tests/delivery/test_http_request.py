"""The request on the wire, and what can never get into it."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsched.delivery.exception_outcomes import FinalFailure
from pgsched.delivery.request import compose
from pgsched.delivery.signature import sign
from pgsched.delivery.url import Origin, parse_url
from pgsched.domain.attempt_outcome import Failed
from pgsched.domain.execution_options import Options
from tests.delivery.receiver import ID, NOW, calling, deliver, execution, receiving


@pytest.mark.parametrize(
    ("target", "origin", "authority", "path"),
    [
        ("http://shop.example", (False, "shop.example", 80), "shop.example", "/"),
        ("https://shop.example/", (True, "shop.example", 443), "shop.example", "/"),
        ("HTTPS://Shop.Example:8443/A", (True, "shop.example", 8443), "shop.example:8443", "/A"),
        ("http://shop.example:80/a", (False, "shop.example", 80), "shop.example", "/a"),
        ("https://shop.example:80/a", (True, "shop.example", 80), "shop.example:80", "/a"),
        ("http://shop.example?a=1", (False, "shop.example", 80), "shop.example", "/?a=1"),
        ("http://shop.example:8080?a=/b:1", (False, "shop.example", 8080), "shop.example:8080", "/?a=/b:1"),
        ("http://shop.example./a//b/../c", (False, "shop.example", 80), "shop.example", "/a//b/../c"),
        ("http://shop.example.:08080", (False, "shop.example", 8080), "shop.example:8080", "/"),
        ("http://[::1]:8080/a", (False, "::1", 8080), "[::1]:8080", "/a"),
        ("http://[2001:DB8::1]/", (False, "2001:db8::1", 80), "[2001:db8::1]", "/"),
        ("http://10.0.0.1/:9/x?y=%0d%0a", (False, "10.0.0.1", 80), "10.0.0.1", "/:9/x?y=%0d%0a"),
    ],
)
def test_a_target_is_parsed_into_origin_authority_and_path(
    target: str, origin: tuple[bool, str, int], authority: str, path: str
) -> None:
    assert parse_url(target) == (Origin(*origin), authority, path)


@given(st.text(max_size=30))
def test_a_target_cannot_add_lines_to_the_request(rest: str) -> None:
    try:
        head = _head(f"http://shop.example/{rest}")
    except FinalFailure:
        return
    assert head.count(b"\r\n") == _head("http://shop.example/").count(b"\r\n")


@pytest.mark.parametrize(
    "header",
    [
        ("X-Shop", "42\r\nX-Other: 1"),
        ("X-Shop", "42\nX-Other: 1"),
        ("X-Shop", "42\rX-Other: 1"),
        ("X-Shop", "4\x002"),
        ("X-Shop", "caf\u00e9"),
        ("X-Shop", "\u20ac"),
        ("X-Shop\r\nX-Other", "42"),
        ("X Shop", "42"),
        ("X-Shop:", "42"),
        ("", "42"),
        ("Host", "inside.example"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "upgrade"),
        ("Expect", "100-continue"),
        ("webhook-signature", "v1,x"),
        ("Pgsched-Attempt", "9"),
        ("Proxy-Authorization", "x"),
    ],
)
async def test_a_forbidden_header_fails_for_good_and_no_request_is_sent(header: tuple[str, str]) -> None:
    async with receiving() as receiver:
        outcome = await deliver(receiver.url, Options(headers=(header,)))
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert receiver.connections == 0


async def test_an_invalid_method_fails_for_good_and_no_request_is_sent() -> None:
    async with receiving() as receiver:
        outcome = await deliver(receiver.url, Options(method="GET /x HTTP/1.1\r\nX: y\r\n\r\nGET"))
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert receiver.connections == 0


@pytest.mark.parametrize(
    ("method", "payload", "length"),
    [
        ("POST", '"Straße"'.encode(), "9"),
        ("POST", None, "0"),
        ("DELETE", None, "0"),
        ("DELETE", b"{}", "2"),
        ("GET", b"{}", None),
        ("HEAD", b"{}", None),
    ],
)
async def test_content_length_matches_the_body(method: str, payload: bytes | None, length: str | None) -> None:
    async with receiving() as receiver:
        await deliver(receiver.url, Options(method=method), payload=payload)
    headers = receiver.requests[0].headers
    assert headers.get("content-length") == length
    assert ("content-type" in headers) == (length not in (None, "0"))


async def test_a_callback_without_a_body_is_signed_over_an_empty_body() -> None:
    async with receiving() as receiver, calling(secrets=lambda client: [b"s" * 32]) as channel:
        await channel.deliver(execution(receiver.url), Options(method="GET"), 5)
    [request] = receiver.requests
    assert request.headers["webhook-signature"] == sign(b"s" * 32, request.headers["webhook-id"], NOW, b"")


def test_each_target_of_a_host_is_requested_with_its_own_path() -> None:
    first, second = (_head(f"http://shop.example/{n}") for n in (1, 2))
    assert first.startswith(b"POST /1 HTTP/1.1\r\nHost: shop.example\r\n")
    assert second.startswith(b"POST /2 HTTP/1.1\r\nHost: shop.example\r\n")


def _head(target: str) -> bytes:
    arguments: dict[str, Any] = {"now": NOW, "deadline": 5.0, "secrets": (), "rng": random.Random(1)}
    row = execution(target, id=ID, payload=None)
    return compose(row, parse_url(target), Options(), **arguments)
