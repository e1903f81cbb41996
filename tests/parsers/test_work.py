"""Untrusted input from targets, unauthenticated callers, files and tenants is parsed in linear time."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack
from typing import Any, cast

import httpx
import pytest
import uvicorn
from litestar import Request
from litestar.types import Scope
from uvicorn.server import ServerState

from pgsched.api import batch_lines
from pgsched.api.http_connections import Connections
from pgsched.api.middleware import limited
from pgsched.api.pages.forms import read_form
from pgsched.api.pages.session import cookie_in
from pgsched.api.problems import Unreadable
from pgsched.api.provider_keys import Unusable, answered
from pgsched.cli import crontab, crontab_shell_words
from pgsched.client.events import EventStream
from pgsched.delivery.connection import Connection
from pgsched.delivery.exchange import Exchange
from pgsched.delivery.pool import OriginSlots, PoolState
from pgsched.delivery.redaction import redacted
from pgsched.delivery.url import Origin
from pgsched.domain.attempt_outcome import escaped, json_text
from pgsched.domain.execution_options import parse_options
from pgsched.domain.wake_notice import parse_notice
from pgsched.password_hiding import without_passwords
from pgsched.telemetry import printable
from tests.delivery.receiver import calling, execution
from tests.parsers.work import LONGEST_TURN, growth, longest_turn, saying_in_a_thread

_ODD = b"HTTP/1.1 103 Early\r\nX Y: z\r\n\r\n"
_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_ASKED = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
_SENT = b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"


class _Line(asyncio.Transport):
    """A connection whose peer accepts everything and sends what a test feeds."""

    def write(self, data: Any) -> None: ...
    def write_eof(self) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def _bytewise(text: bytes) -> list[bytes]:
    return [text[at : at + 1] for at in range(len(text))]


def _answer(pieces: Iterable[bytes]) -> Exchange:
    """Returns the exchange for an answer that arrives in these pieces."""

    async def take() -> Exchange:
        loop = asyncio.get_running_loop()
        connection = Connection(OriginSlots(Origin(False, "x", 80), PoolState(loop), most=1), loop, lifetime=300)
        connection.connection_made(_Line())
        exchange = Exchange(
            b"", loop.create_future(), bodiless=False, once=False, deadline=5, expires=loop.time() + 5, keeps=65_536
        )
        connection.start(exchange)
        for piece in pieces:
            connection.data_received(piece)
        return exchange

    return asyncio.run(take())


def _request(pieces: Iterable[bytes]) -> None:
    """Feeds a request in these pieces; it is never answered."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def take() -> None:
        config = uvicorn.Config(cast(Any, limited(app)), lifespan="off", log_config=None, log_level="error")
        connections = Connections(receive=30, send=30)
        protocol = connections.protocol(config=config, server_state=ServerState(), app_state={})
        protocol.connection_made(_Line())
        for piece in pieces:
            protocol.data_received(piece)
            await asyncio.sleep(0)
        protocol.connection_lost(None)

    asyncio.run(take())


def _scope(**headers: str) -> Scope:
    found = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return cast(Scope, {"type": "http", "method": "POST", "path": "/", "headers": found, "query_string": b""})


def _form(body: bytes) -> None:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    request: Request[Any, Any, Any] = Request(
        _scope(content_type="application/x-www-form-urlencoded"), receive=cast(Any, receive)
    )
    request._body = body  # a request without a route has no size limit to check
    try:
        asyncio.run(read_form(request))
    except Unreadable:
        return


def _lines(pieces: Iterable[bytes]) -> None:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def take() -> None:
        async for _ in batch_lines.cut(body()):
            pass

    asyncio.run(take())


def _provider(body: bytes) -> None:
    class Bytewise(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in _bytewise(body):
                yield piece

    async def take() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Bytewise()))
        async with httpx.AsyncClient(transport=transport) as client:
            try:
                await answered(client, "GET", "https://idp.example")
            except Unusable:
                return

    asyncio.run(take())


def _events(pieces: Iterable[bytes]) -> None:
    following = EventStream({}, None, 0)
    for piece in pieces:
        assert not list(following.read(piece))


FROM_TARGETS: dict[str, tuple[int, Callable[[int], object]]] = {
    "odd interim heads, each in a piece": (800, lambda n: _answer([_ODD] * n)),
    "interim heads in one piece": (800, lambda n: _answer([b"HTTP/1.1 103 Early\r\nX: z\r\n\r\n" * n])),
    "a header in pieces of a byte": (12_000, lambda n: _answer([_OK, b"X: ", *_bytewise(b"z" * n)])),
    "an odd header in pieces of a byte": (12_000, lambda n: _answer([_OK, b"X Y: ", *_bytewise(b"z" * n), b"\r\n"])),
    "a reason in pieces of a byte": (12_000, lambda n: _answer([b"HTTP/1.1 200 O", *_bytewise(b"K" * n), b"\r\n"])),
    "a status line of blanks": (12_000, lambda n: _answer([b"HTTP/2 200" + b" " * n + b"\rx\r\n\r\n"])),
    "a head of carriage returns": (12_000, lambda n: _answer([b"HTTP/1.1 200 OK\r\nX Y: z\r\n", b"\r" * n + b"\n"])),
    "empty lines before the head": (12_000, lambda n: _answer([b"HTTP/2\r\n"[:0], *[b"\r\n"] * n])),
    "many lengths": (6_000, lambda n: _answer([_OK + b"Content-Length: " + b"2, " * n + b"2\r\n\r\n"])),
    "a body in chunks of a byte": (6_000, lambda n: _answer([_CHUNKED + b"1\r\na\r\n" * n])),
    "a body in pieces of a byte": (2_000, lambda n: _answer([_CHUNKED, b"ffff\r\n", *_bytewise(b"z" * n)])),
    "a trailer in pieces of a byte": (2_000, lambda n: _answer([_CHUNKED, b"0\r\nX: ", *_bytewise(b"z" * n)])),
    "an extension of a chunk": (30_000, lambda n: _answer([_CHUNKED, b"1;x=" + b"z" * n + b"\r\na\r\n"])),
    "an answer that is nearly a secret": (8_000, lambda n: redacted(["a" * 8_000 + "b"], b"a" * n)),
    "a secret that the answer begins often": (8_000, lambda n: redacted(["aaaab" * (n // 5)], b"a" * 16_000)),
    "an answer that ends with a secret's beginning": (8_000, lambda n: redacted(["ab" * n], b"ab" * (n // 2) + b"c")),
    "many secrets": (20, lambda n: redacted([f"a<b&'/{one}" for one in range(n)], b"a<b&'/" * 1_000)),
}
FROM_CALLERS: dict[str, tuple[int, Callable[[int], object]]] = {
    "a header in pieces of a byte": (15_000, lambda n: _request([_ASKED, b"a: ", *_bytewise(b"b" * n)])),
    "a URL in pieces of a byte": (15_000, lambda n: _request([b"GET /", *_bytewise(b"a" * n)])),
    "many headers": (100, lambda n: _request([_ASKED + b"a: b\r\n" * n])),
    "a body in chunks of a byte": (20_000, lambda n: _request([_SENT + b"1\r\na\r\n" * n])),
    "a body in pieces of a byte": (8_000, lambda n: _request([_SENT, b"fffff\r\n", *_bytewise(b"a" * n)])),
    "extensions of chunks": (20_000, lambda n: _request([_SENT + b"1;x=" + b"z" * n + b"\r\na\r\n"])),
    "trailers": (4_000, lambda n: _request([_SENT + b"0\r\n" + b"a: b\r\n" * n])),
    "a cookie of quotes": (20_000, lambda n: cookie_in(Request(_scope(cookie=f'a="{chr(92) * n}"')), "pgsched_key")),
    "many cookies": (20_000, lambda n: cookie_in(Request(_scope(cookie="a=b;" * n)), "pgsched_key")),
    "a form of many fields": (300_000, lambda n: _form(b"a&" * n)),
    "a form of escapes": (10_000, lambda n: _form(b"key=" + b"%41" * n)),
}
FROM_TENANTS: dict[str, tuple[int, Callable[[int], object]]] = {
    "a line in pieces of a byte": (40_000, lambda n: _lines(_bytewise(b"a" * n))),
    "a line in pieces": (400, lambda n: _lines([b"a" * 4_000] * n)),
    "empty lines": (100_000, lambda n: _lines([b"\n" * n])),
    "a result of backslashes": (100_000, lambda n: json_text(b'"' + b"\\" * n + b'"')),
    "control characters": (20_000, lambda n: escaped("\x01" * n)),
    "a notice": (100_000, lambda n: parse_notice("1@2," * n)),
    "a notice of ends": (20_000, lambda n: parse_notice("stop " + "0" * 36 + "," * n)),
    "names in an error": (4_000, lambda n: without_passwords("a." * n)),
    "addresses in an error": (4_000, lambda n: without_passwords("://a:" * n)),
    "an error that cannot be printed": (20_000, lambda n: printable("\x1b" * n)),
}
FROM_SERVERS: dict[str, tuple[int, Callable[[int], object]]] = {
    "an event in pieces of a byte": (20_000, lambda n: _events(_bytewise(b"data: " + b"x" * n))),
}
FROM_FILES: dict[str, tuple[int, Callable[[int], object]]] = {
    "blanks in a crontab": (10_000, lambda n: crontab_shell_words.words_of("curl " + " " * n + "x")),
    "redirections in a crontab": (2_000, lambda n: crontab_shell_words.words_of("curl " + "> " * n + "x")),
    "quotes in a crontab": (10_000, lambda n: crontab_shell_words.words_of("curl " + "'" * n + '"')),
    "words in a crontab": (
        10_000,
        lambda n: crontab_shell_words.address_of(crontab_shell_words.words_of("curl" + " -o x" * n)),
    ),
    "a crontab": (4_000, lambda n: list(crontab.lines_of("* * * * * curl x\n" * n, with_user=False))),
}
FROM_PROVIDERS: dict[str, tuple[int, Callable[[int], object]]] = {
    "an answer in pieces of a byte": (2_000, lambda n: _provider(b"{" + b" " * n + b"}")),
}
_ALL = {
    f"{whose}: {what}": read
    for whose, reads in (
        ("target", FROM_TARGETS),
        ("caller", FROM_CALLERS),
        ("tenant", FROM_TENANTS),
        ("server", FROM_SERVERS),
        ("file", FROM_FILES),
        ("provider", FROM_PROVIDERS),
    )
    for what, read in reads.items()
}


@pytest.mark.parametrize("what", _ALL)
def test_parsing_work_grows_linearly_with_the_input(what: str) -> None:
    size, read = _ALL[what]
    assert growth(cast(Callable[[int], None], read), size) < 3


async def test_worst_case_answers_never_block_the_loop_for_long() -> None:
    kinds = [
        [b"HTTP/1.1 103 Early\r\nX Y: z\r\n\r\n"] * 600,
        [_OK + b"X Y: ", *[b"z" * 16] * 1_000, b"\r\n\r\n"],
        [b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + b"a<b&'/" * 3_000],
        [_CHUNKED + b"1\r\na\r\n" * 10_000],
    ]
    secrets = {f"X-{number}": {"secret": f"s{number}"} for number in range(50)}
    options = parse_options(json.dumps({"headers": secrets}).encode())

    async def secret(client: str, name: str) -> str:
        return f"a<b&'/{name}" * 30

    with ExitStack() as stack:
        urls = [stack.enter_context(saying_in_a_thread(pieces)) for pieces in kinds]
        async with calling(get_secret=secret, connections_per_host=20) as channel:
            calls = [channel.deliver(execution(url), options, 10) for url in urls for _ in range(10)]
            assert await longest_turn(asyncio.gather(*calls)) < LONGEST_TURN
