"""An event stream over ASGI, read frame by frame. The server blocks while the test does not read."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

from litestar import Litestar

from pgsched.domain.api_key import Token


@dataclass
class Stream:
    """Status, headers and frames of a streamed response."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    _pieces: asyncio.Queue[bytes | None] = field(default_factory=lambda: asyncio.Queue(1))
    _rest: bytes = b""

    async def frame(self) -> dict[str, str] | None:
        """Returns the fields of the next frame, or None at the end of the stream."""
        while b"\n\n" not in self._rest:
            async with asyncio.timeout(15):
                piece = await self._pieces.get()
            if piece is None:
                self._pieces.put_nowait(None)
                return None
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\n\n")
        return dict(line.split(": ", 1) for line in text.decode().splitlines() if not line.startswith(":"))

    async def event(self) -> dict[str, Any]:
        """Returns the next event, skipping heartbeats."""
        while frame := await self.frame():
            if "data" in frame:
                found: dict[str, Any] = json.loads(frame["data"])
                assert found["cursor"] == frame["id"]
                return found
        raise AssertionError("the stream has ended")

    async def ends(self) -> bool:
        """Reads on: True if the stream ends, False if an event comes first."""
        while frame := await self.frame():
            if "data" in frame:
                return False
        return True

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            await self._pieces.put(message.get("body", b""))
            if not message.get("more_body"):
                await self._pieces.put(None)


@asynccontextmanager
async def following(
    app: Litestar, token: Token | None = None, *, after: str | None = None, **query: Any
) -> AsyncIterator[Stream]:
    """Opens a stream and reads its first frame, so that it contains all later events."""
    gone, stream = asyncio.Event(), Stream()
    headers = [(b"host", b"127.0.0.1"), (b"x-requested-with", b"tests")]
    headers += [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
    headers += [] if after is None else [(b"last-event-id", after.encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/v1/events", "raw_path": b"/v1/events", "root_path": "", "headers": headers,
        "query_string": urlencode(query, True).encode(),
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if asked:
            return asked.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    serving = asyncio.create_task(cast(Any, app)(scope, receive, stream.send))
    try:
        first = await stream.frame()
        assert first is None or stream.status != 200 or first.keys() == {"retry", "id"}
        yield stream
    finally:
        gone.set()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
