"""Limits on the API's connections: on heads that do not end, answers that nobody reads, and connections without number.

uvicorn has a limit for none of these, and takes a protocol of the caller's. The one here hands everything on to
uvicorn's own, and looks only at bytes and seconds. ``middleware`` tells it when a request begins, asks for more of
its body, and is answered; it has the limits of what can be told of a request that has begun.

A connection whose request does not arrive is closed, and so is one whose client does not read. Where there are too
many, that one is closed which has waited for a request for longest: so whoever holds connections without asking for
anything keeps nobody else out.
"""

import asyncio
from math import inf
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pgsched.api.problems import unread

MOST = 2000
"""Connections of a process, where it has descriptors for so many."""
CONNECTION = "connection"
"""The name of the connection in the state of each request's scope."""
_LARGEST_HEAD = _MOST_AHEAD = 64 * 1024
_MOST_UNTAKEN = 512 * 1024
"""Bytes of a body that the API has not taken: uvicorn stops reading at 64 KiB, which may be chunks of a byte with five
bytes around each, and one more piece may be on its way."""
_END_OF_HEAD = b"\r\n\r\n"
_TOO_LARGE = unread(431, "the line and the headers of the request are over 64 KiB: send what is large in the body")
_LARGE_WRITE = 64 * 1024
_LONGEST_LOOK = 1.0  # seconds between two looks for connections that are late


class Connections:
    """All connections of a process. A request has ``receive`` seconds to arrive, a client ``send`` seconds to read."""

    def __init__(self, *, receive: float, send: float, most: int = MOST) -> None:
        self.receive, self.send, self._most = receive, send, most
        self._look_every = min(receive / 2, send / 2, _LONGEST_LOOK)
        self._open: set[_Connection] = set()
        self._waiting: dict[_Connection, None] = {}
        self._is_looking = False

    def protocol(self, **given: Any) -> asyncio.Protocol:
        """What uvicorn makes for each connection."""
        return _Connection(self, **given)

    def add(self, connection: "_Connection") -> None:
        self._open.add(connection)
        self.wait(connection)
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(self._look_every, self._look)
        if len(self._open) > self._most and self._waiting:
            next(iter(self._waiting)).cut()

    def wait(self, connection: "_Connection") -> None:
        """It waits for a request from now on."""
        self._waiting[connection] = None

    def serve(self, connection: "_Connection") -> None:
        """It has a request."""
        self._waiting.pop(connection, None)

    def remove(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in [connection for connection in self._open if connection.is_late(now)]:
            connection.cut()
        self._is_looking = bool(self._open)
        if self._is_looking:
            loop.call_later(self._look_every, self._look)


class _JoinedWrites:
    """A transport that sends what is written in one turn of the loop by one call of the system: uvicorn writes the head
    of an answer and its body apart, and each call costs as much as the rest of the writing, here and where it is
    read."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        if len(data) > _LARGE_WRITE:  # the transport is to know how much is unread
            self._send()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Connection(asyncio.Protocol):
    """One connection, before uvicorn's protocol for it.

    A head is handed on by itself, and what follows it once its request has begun. So the headers that a request has
    then are those of its head, without any that come behind its body.
    """

    def __init__(self, connections: Connections, *, app_state: dict[str, Any], **given: Any) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._uvicorn = HttpToolsProtocol(app_state={**app_state, CONNECTION: self}, **given)
        self._arrives_by = self._read_by = inf
        self._left = 0.0  # seconds that a body may still take to arrive
        self._untaken = self._unanswered = 0
        self._in_body = False
        self._tail = self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        self._uvicorn.connection_made(cast(asyncio.Transport, _JoinedWrites(self._transport, self._loop)))
        self._arrives_by = self._loop.time() + self._connections.receive
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data
            if len(self._rest) > _MOST_UNTAKEN:
                self.cut()
        elif not self._unanswered:
            self._receive_head(data)
        else:
            self._untaken += len(data)
            if self._untaken > (_MOST_UNTAKEN if self._in_body else _MOST_AHEAD):
                self.cut()
            else:
                self._uvicorn.data_received(data)

    def _receive_head(self, data: bytes) -> None:
        if self._arrives_by == inf:
            self._arrives_by = self._loop.time() + self._connections.receive
        seen = self._tail + data
        end = seen.find(_END_OF_HEAD)
        head = data if end < 0 else data[: end + len(_END_OF_HEAD) - len(self._tail)]
        self._untaken += len(head)
        if self._untaken > _LARGEST_HEAD:
            self._transport.write(_TOO_LARGE)
            self._transport.close()
            return
        self._tail = seen[1 - len(_END_OF_HEAD) :] if end < 0 else b""
        self._rest = data[len(head) :]
        self._uvicorn.data_received(head)
        if self._rest:
            self._transport.pause_reading()  # uvloop may read many more pieces in this turn of the loop
            self._loop.call_soon(self._hand_on)

    def _hand_on(self) -> None:
        rest, self._rest = self._rest, b""
        if self._transport.is_closing():
            return
        self._transport.resume_reading()
        if not self._unanswered and len(rest) > _MOST_AHEAD:  # its request is answered by now
            self.cut()
        else:
            self.data_received(rest)

    def begin(self, *, has_body: bool) -> None:
        """A request begins. What comes of one that was sent ahead of another's answer counts as sent ahead."""
        if not self._unanswered:
            self._untaken, self._in_body = 0, has_body
        self._unanswered += 1
        self._left, self._arrives_by = self._connections.receive, inf
        self._connections.serve(self)

    def ask(self) -> None:
        """The API waits for more of a body."""
        self._arrives_by = self._loop.time() + self._left

    def take(self, *, more: bool) -> None:
        """The API takes what has come of a body. No time is counted until it asks for more."""
        self._left, self._arrives_by = self._arrives_by - self._loop.time(), inf
        if self._in_body:
            self._untaken, self._in_body = 0, more

    def answer(self) -> None:
        """A request is answered. The next one, if it was sent ahead, begins before ``_look_on``."""
        self._unanswered -= 1
        self._loop.call_soon(self._look_on)

    def _look_on(self) -> None:
        if not self._unanswered and not self._transport.is_closing():
            self._untaken = 0
            self._connections.wait(self)

    def pause_writing(self) -> None:
        self._read_by = self._loop.time() + self._connections.send
        self._uvicorn.pause_writing()

    def resume_writing(self) -> None:
        self._read_by = inf
        self._uvicorn.resume_writing()

    def eof_received(self) -> None:
        self._uvicorn.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        self._uvicorn.connection_lost(exc)

    def is_late(self, now: float) -> bool:
        return now > self._arrives_by or now > self._read_by

    def cut(self) -> None:
        """Ends the connection, whatever is under way on it."""
        self._connections.remove(self)
        self._rest = b""
        self._transport.abort()
