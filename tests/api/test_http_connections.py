"""Connections with refused, endless or incomplete requests: they cost other clients nothing."""

import asyncio
import logging
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import pytest
import uvicorn

from pgsched.api import middleware, server
from pgsched.api.http_connections import Connections
from pgsched.api.middleware import limited

_POST = b"POST /%s HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
_GET = b"GET /read HTTP/1.1\r\nhost: localhost\r\n\r\n"
_TOO_MANY_HEADERS = b"GET /read HTTP/1.1\r\nhost: localhost\r\n" + b"a: b\r\n" * 300 + b"\r\n"
_TOO_MANY_PARAMETERS = b"GET /read?" + b"a&" * 600 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
_TOO_LONG = b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
_TOO_LARGE = b"GET /read HTTP/1.1\r\nhost: localhost\r\na: " + b"b" * 70_000
_TWICE = b"GET /read HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n"


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Refuses at once, or reads the body and returns its length and whether a key came with it."""
    status, told = 401, b"no"
    if scope["path"] not in ("/refused", "/at-once"):
        length, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            length, more = length + len(message["body"]), message["more_body"]
        status, told = 200, b"%d %d" % (length, b"authorization" in dict(scope["headers"]))
    headers = [(b"content-length", str(len(told)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": told})


class _Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, sent: bytes) -> tuple[bytes, bytes]:
        """Sends a request and returns head and body of the answer."""
        self.writer.write(sent)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return head, await self.reader.readexactly(length)

    async def is_cut(self) -> bool:
        """Returns True once the server closes the connection, or False if it sends more."""
        try:
            async with asyncio.timeout(30):
                return not await self.reader.read(1)
        except ConnectionError:
            return True


@asynccontextmanager
async def _serving(most: int = 100) -> AsyncIterator[Any]:
    """Runs a server whose application needs no database, and yields a function that connects to it."""
    config = uvicorn.Config(
        cast(Any, limited(_app)),
        http=cast(Any, Connections(receive=60, send=60, most=most).protocol),
        lifespan="off",
        log_config=None,
        access_log=False,
        log_level="error",
    )
    config.load()
    server = uvicorn.Server(config)
    state = server.server_state

    def protocol() -> Any:
        return cast(Any, config.http_protocol_class)(config=config, server_state=state, app_state={})

    listening = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    async with AsyncExitStack() as stack:

        async def connect() -> _Client:
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            stack.callback(writer.close)
            return _Client(reader, writer)

        yield connect
    listening.close()
    for connection in list(state.connections):
        connection.transport.abort()


async def test_a_refusal_before_the_body_is_complete_closes_the_connection() -> None:
    async with _serving() as connect:
        client = await connect()
        head, _ = await client.ask(_POST % b"refused" + b"1\r\na\r\n")
        assert head.startswith(b"HTTP/1.1 401")
        assert b"connection: close" in head
        assert await client.is_cut()


@pytest.mark.parametrize("more", [b"1\r\na\r\n", b"1;" + b"x" * 100 + b"\r\na\r\n", b"0\r\n" + b"a: b\r\n" * 100])
async def test_a_client_that_keeps_sending_after_a_refusal_is_disconnected(
    more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "_MOST_SURPLUS", 100_000)
    monkeypatch.setattr(middleware, "_LINGERS", 60.0)
    async with _serving() as connect:
        client = await connect()
        client.writer.write(_POST % b"refused")
        with suppress(ConnectionError):
            async with asyncio.timeout(30):
                while True:
                    client.writer.write(more * 100)
                    await client.writer.drain()
        other = await connect()
        assert (await other.ask(_GET))[1] == b"0 0"


async def test_a_refusal_reaches_a_client_that_is_still_sending_its_body() -> None:
    async with _serving() as connect:
        client = await connect()
        client.writer.write(_POST % b"refused")
        for _ in range(20):
            client.writer.write(b"%x\r\n" % 65_536 + b"z" * 65_536 + b"\r\n")
            await client.writer.drain()
        head, said = await client.ask(b"0\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 401")
        assert said == b"no"


async def test_a_connection_stays_open_after_a_complete_request() -> None:
    async with _serving() as connect:
        client = await connect()
        for _ in range(2):
            assert (await client.ask(_POST % b"read" + b"1\r\na\r\n0\r\n\r\n"))[1] == b"1 0"
        whole = b"POST /refused HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\r\na"
        assert b"connection: close" not in (await client.ask(whole))[0]
        assert (await client.ask(_GET))[1] == b"0 0"


async def test_trailers_are_not_treated_as_headers() -> None:
    async with _serving() as connect:
        client = await connect()
        sent = _POST % b"read" + b"1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
        assert (await client.ask(sent))[1] == b"1 0"


@pytest.mark.parametrize("around", [b"1;" + b"x" * 900_000, b"1\r\na\r\n0\r\n" + b"a: b\r\n" * 150_000])
async def test_oversized_chunk_extensions_or_trailers_close_the_connection(around: bytes) -> None:
    async with _serving() as connect:
        client = await connect()
        client.writer.write(_POST % b"read" + around)
        assert await client.is_cut()


async def test_pipelined_requests_are_answered_up_to_a_limit() -> None:
    async with _serving() as connect:
        client = await connect()
        client.writer.write(_GET * 99)
        assert [(await client.ask(b""))[1] for _ in range(98)] == [b"0 0"] * 98
        client.writer.write((_POST % b"read" + b"0\r\n\r\n") * 100_000)
        with suppress(ConnectionError):
            while await client.reader.read(65_536):
                pass


@pytest.mark.parametrize("path", [b"at-once", b"read"])
async def test_pipelined_requests_are_limited_even_if_answered_quickly(path: bytes) -> None:
    async with _serving() as connect:
        client, answers = await connect(), b""
        client.writer.write(_GET.replace(b"read", path) * 20_000)
        with suppress(ConnectionError):
            while more := await client.reader.read(65_536):
                answers += more
        assert answers.count(b"HTTP/1.1 ") < 10_000


async def test_a_body_in_chunks_of_one_byte_is_read() -> None:
    async with _serving() as connect:
        client = await connect()
        assert (await client.ask(_POST % b"read" + b"1\r\na\r\n" * 200_000 + b"0\r\n\r\n"))[1] == b"200000 0"


@pytest.mark.parametrize("sent", [_TOO_MANY_HEADERS, _TOO_MANY_PARAMETERS, _TOO_LONG, _TOO_LARGE])
async def test_an_oversized_head_is_refused(sent: bytes) -> None:
    async with _serving() as connect:
        client = await connect()
        assert (await client.ask(sent))[0].startswith(b"HTTP/1.1 431")
        assert await client.is_cut()


async def test_a_second_host_header_is_refused() -> None:
    async with _serving() as connect:
        head, said = await (await connect()).ask(_TWICE)
        assert head.startswith(b"HTTP/1.1 400")
        assert b"more than one host header" in said


async def test_an_upgrade_request_is_answered_without_an_upgrade() -> None:
    async with _serving() as connect:
        client = await connect()
        sent = b"GET /read HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
        head, said = await client.ask(sent)
        assert (b"connection: close" in head, said) == (True, b"0 0")


@pytest.mark.parametrize("half", [b"", b"GET /read HTT", _GET])
async def test_idle_connections_do_not_block_new_clients(half: bytes) -> None:
    async with _serving(most=10) as connect:
        under_way = await connect()
        under_way.writer.write(_POST % b"read" + b"1\r\na\r\n")
        await under_way.writer.drain()
        held = []
        for _ in range(15):
            held.append(await connect())
            held[-1].writer.write(half)
            await held[-1].writer.drain()
        for _ in range(15):
            assert (await (await connect()).ask(_GET))[1] == b"0 0"
        for one in held:
            with suppress(ConnectionError):
                await one.reader.read()
        assert (await under_way.ask(b"0\r\n\r\n"))[1] == b"1 0"


async def test_malformed_and_upgrade_requests_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with _serving() as connect:
        with caplog.at_level(logging.INFO):
            for sent in (b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"):
                await (await connect()).ask(sent)
    assert not caplog.records


@pytest.mark.parametrize(
    ("given", "connections"),
    [((1024, 524_288), 2000), ((1024, -1), 2000), ((1024, 1024), 824), ((64, 64), 10), ((-1, -1), 2000)],
)
def test_the_connection_limit_follows_the_file_descriptor_limit(
    given: tuple[int, int], connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [given]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.append(new))
    assert server._connections_with_descriptors() == connections
