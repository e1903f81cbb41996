"""A proxy that records its requests and connects every host name to this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class ForwardProxy:
    """``asked`` holds the first line of each request, ``credentials`` its Proxy-Authorization."""

    def __init__(self, answer: bytes | None) -> None:
        self.port = 0
        self.asked, self.credentials = list[str](), list[str | None]()
        self._answer = answer
        self.running = set[asyncio.Task[None]]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.running.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await self._serve(reader, writer)
        await _close(writer)
        self.running.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().rstrip().split("\r\n")
        said = dict(line.split(": ", 1) for line in lines)
        self.asked.append(first)
        self.credentials.append(said.get("Proxy-Authorization"))
        if self._answer is not None:
            writer.write(self._answer)
            await writer.drain()
            writer.write_eof()
            await reader.read()
            return
        method, url, _ = first.split(" ")
        port = url.rpartition(":")[2].partition("/")[0]
        upstream = await asyncio.open_connection("127.0.0.1", int(port))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + url.split("/", 3)[3]
            upstream[1].write(head.replace(url.encode(), path.encode(), 1))
        try:
            await asyncio.gather(_pipe(reader, upstream[1]), _pipe(upstream[0], writer))
        finally:
            await _close(upstream[1])


@asynccontextmanager
async def proxying(answer: bytes | None = None) -> AsyncIterator[ForwardProxy]:
    """Runs a proxy on a free port. If ``answer`` is given, it answers every request with that."""
    proxy = ForwardProxy(answer)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in proxy.running:
            task.cancel()
        if proxy.running:
            await asyncio.wait(proxy.running)
        await server.wait_closed()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        with suppress(OSError, RuntimeError):
            writer.write_eof()
