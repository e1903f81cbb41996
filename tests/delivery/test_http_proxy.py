"""Callbacks through a proxy."""

import base64

import pytest

from pgsched.delivery.proxy import parse_proxy
from pgsched.delivery.tls import trusting_context
from pgsched.domain.attempt_outcome import Failed, Succeeded
from pgsched.domain.execution_options import Options
from pgsched.errors import InvalidSettings
from tests.delivery.proxying import proxying
from tests.delivery.receiver import TLS, calling, execution, receiving, server_tls

DONE = Succeeded(status_code=200)


async def test_an_http_target_is_requested_by_its_full_url() -> None:
    async with proxying() as proxy, receiving() as receiver:
        way = parse_proxy(f"http://worker:p%40ss@127.0.0.1:{proxy.port}")
        async with calling(proxy=way, allow_private=False) as channel:
            row = execution(f"http://shop.example:{receiver.port}/settle?a=1")
            assert [await channel.deliver(row, Options(), 5) for _ in range(2)] == [DONE, DONE]
    assert proxy.asked == [f"POST http://shop.example:{receiver.port}/settle?a=1 HTTP/1.1"]
    assert proxy.credentials == ["Basic " + base64.b64encode(b"worker:p@ss").decode()]
    assert receiver.requests[0].headers["host"] == f"shop.example:{receiver.port}"


async def test_an_https_target_is_reached_through_a_tunnel_with_end_to_end_tls() -> None:
    async with proxying() as proxy, receiving(tls=server_tls()) as receiver:
        way = parse_proxy(f"http://worker:secret@127.0.0.1:{proxy.port}/")
        async with calling(proxy=way, tls=trusting_context(str(TLS / "authority.pem"))) as channel:
            row = execution(f"https://localhost:{receiver.port}/settle")
            assert [await channel.deliver(row, Options(), 5) for _ in range(2)] == [DONE, DONE]
    assert proxy.asked == [f"CONNECT localhost:{receiver.port} HTTP/1.1"]
    assert proxy.credentials == ["Basic " + base64.b64encode(b"worker:secret").decode()]
    assert [(request.path, request.connection) for request in receiver.requests] == [("/settle", 1)] * 2
    assert "proxy-authorization" not in receiver.requests[0].headers


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "407 Proxy Authentication"),
        (b"HTTP/1.0 403 Not for you\r\n\r\n", "443: 403 Not for you"),
        (b"", "gave no reason"),
        (b"SSH-2.0\r\n\r\n", "SSH-2.0"),
    ],
)
async def test_a_proxy_that_refuses_the_tunnel_is_a_retryable_failure(answer: bytes, said: str) -> None:
    async with proxying(answer) as proxy, calling(proxy=parse_proxy(f"http://127.0.0.1:{proxy.port}")) as channel:
        outcome = await channel.deliver(execution("https://shop.example/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert outcome.retryable
    assert said in outcome.error


async def test_a_407_from_the_proxy_is_reported_as_missing_credentials() -> None:
    answer = b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"
    async with proxying(answer) as proxy, calling(proxy=parse_proxy(f"http://127.0.0.1:{proxy.port}")) as channel:
        outcome = await channel.deliver(execution("http://shop.example/"), Options(), 5)
    assert outcome == Failed(
        error="the proxy requires credentials; give them in the setting proxy", retryable=True, status_code=None
    )


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "10.0.0.1", "127.1", "0x7f000001", "[::1]", "localhost", "metadata.localhost", "2130706433"],
)
async def test_an_address_is_checked_before_the_proxy_is_contacted(host: str) -> None:
    async with proxying() as proxy:
        way = parse_proxy(f"http://127.0.0.1:{proxy.port}")
        async with calling(proxy=way, allow_private=False) as channel:
            outcome = await channel.deliver(execution(f"http://{host}/"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert proxy.asked == []


async def test_proxy_variables_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxying() as proxy, receiving() as receiver, calling() as channel:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert await channel.deliver(execution(receiver.url), Options(), 5) == DONE
    assert proxy.asked == []


@pytest.mark.parametrize("text", ["proxy:3128", "https://proxy:3128", "socks5://proxy", "http://", "http://a:b:c", "x"])
def test_an_invalid_proxy_url_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"proxy must have the form http://host:port"):
        parse_proxy(text)
