"""A misbehaving peer that does on each connection exactly what a test specifies, byte by byte."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Wire:
    """One connection from the peer's side. ``number`` counts from 1."""

    def __init__(self, peer: "Peer", number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._peer, self.number, self._reader, self._writer = peer, number, reader, writer

    async def request(self) -> bytes:
        """Reads the next request and its body. Returns the head."""
        head = await self.head()
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await self._reader.readexactly(int(length or 0))
        return head

    async def head(self) -> bytes:
        """Reads only the head of the next request."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        self._peer.requests.append((self.number, head.split(b" ")[1].decode()))
        return head

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            self._writer.write(part)
            await self._writer.drain()

    async def closed(self) -> None:
        """Returns once the other side has closed or reset the connection."""
        try:
            while await self._reader.read(65_536):
                pass
        except ConnectionError:
            pass

    def hang_up(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        self._writer.transport.abort()


Behave = Callable[[Wire], Awaitable[None]]


class Peer:
    """``requests`` holds the connection number and the path of each request."""

    def __init__(self) -> None:
        self.port, self.connections = 0, 0
        self.requests: list[tuple[int, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def on(self) -> list[int]:
        """The connection number of each request."""
        return [number for number, _ in self.requests]


@asynccontextmanager
async def peer(behave: Behave, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Peer]:
    """Listens on a free port. Closes each connection once ``behave`` returns."""
    found, running = Peer(), set[asyncio.Task[None]]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.connections += 1
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await behave(Wire(found, found.connections, reader, writer))
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, host, 0, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        await server.wait_closed()


def saying(*parts: bytes) -> Behave:
    """Answers every request with the same bytes, sent in these parts."""

    async def behave(wire: Wire) -> None:
        while True:
            await wire.request()
            await wire.say(*parts)

    return behave
