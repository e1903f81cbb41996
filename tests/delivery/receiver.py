"""A small HTTP server whose answers a test writes byte by byte."""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsched.delivery.http import HttpChannel
from pgsched.domain.attempt_outcome import Outcome
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options

ID = bytes.fromhex("0198c0de000070008000000000000001")
NOW = 1_790_000_000
TLS = Path(__file__).parent / "tls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as received. Header names are in lower case; ``connection`` counts from 1."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


Respond = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """Records every request and answers with ``respond``."""

    def __init__(self, respond: Respond) -> None:
        self.respond, self.requests, self.connections = respond, list[Request](), 0
        self.port = 0
        self._open: dict[asyncio.StreamWriter, asyncio.StreamReader] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._open[writer] = reader
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                request = await self._read(head, reader, number)
                self.requests.append(request)
                await self.respond(request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self._open.pop(writer, None)
            writer.close()

    async def left(self, writer: asyncio.StreamWriter) -> None:
        """Returns once the caller has closed the connection."""
        while not self._open[writer].at_eof():  # noqa: ASYNC110  only its reader can await a stream
            await asyncio.sleep(0.005)

    def hang_up(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _read(self, head: str, reader: asyncio.StreamReader, number: int) -> Request:
        first, *lines = head.rstrip("\r\n").split("\r\n")
        pairs = [line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in lines]
        headers = {name.lower(): value for name, value in pairs}
        method, path, _ = first.split(" ")
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Request(method=method, path=path, headers=headers, body=body, connection=number)


def server_tls(*, ask_for_certificate: bool = False) -> ssl.SSLContext:
    """Returns a server-side TLS context with a certificate for localhost and 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem")
    if ask_for_certificate:
        context.load_verify_locations(TLS / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def answering(status: str = "200 OK", body: bytes = b"{}", *headers: str) -> Respond:
    """Always sends the same answer."""

    async def respond(request: Request, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + (b"" if request.method == "HEAD" else body))

    return respond


@asynccontextmanager
async def receiving(respond: Respond | None = None, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Runs a receiver on a free local port."""
    receiver = Receiver(respond or answering())
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        receiver.hang_up()
        await server.wait_closed()


@asynccontextmanager
async def calling(**changes: Any) -> AsyncIterator[HttpChannel]:
    """An HTTP channel that may call this machine and signs nothing, unless ``changes`` say otherwise."""
    arguments: dict[str, Any] = {
        "connections_per_host": 10,
        "concurrency": 20,
        "allow_private": True,
        "secrets": lambda client: None,
        "now": lambda: NOW,
        "rng": random.Random(7),
    }
    channel = HttpChannel(**{**arguments, **changes})
    try:
        yield channel
    finally:
        await channel.close()


def execution(target: str, **changes: Any) -> ClaimedExecution:
    """Returns a valid claimed row, due at 2026-09-21T14:13:20Z."""
    row = ClaimedExecution(
        partition=3,
        id=ID,
        token=11,
        attempt=1,
        fire_at=843_315_200_000_000,
        scheduled_for=843_315_200_000_000,
        client_id="shop",
        target=target,
        payload=b'{"order": 42}',
        options=None,
        job_id=None,
        plan=None,
        key=None,
        ordering_key=None,
    )
    return row._replace(**changes)


async def deliver(target: str, options: Options | None = None, *, deadline: float = 5.0, **row: Any) -> Outcome:
    """Makes one callback through its own channel."""
    async with calling() as channel:
        return await channel.deliver(execution(target, **row), options or Options(), deadline)
