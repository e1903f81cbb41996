"""Limits the API's connections: their number, request heads that never end, and responses that are not read.

uvicorn has no such limits, but accepts a custom protocol. This protocol passes all data on to uvicorn's own protocol,
and learns from ``middleware`` when requests begin and end.

A connection is closed if its request does not arrive in time, or if its client does not read the response. If there are
too many connections, the connection that has waited longest for a request is closed, so that idle connections do not
keep other clients out.
"""

import asyncio
from math import inf
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pgsched.api.problems import unread

MOST = 2000
"""The maximum number of connections of a process, if it has enough file descriptors."""
CONNECTION = "connection"
"""The key of the connection in the ``state`` of each request's scope."""
_LARGEST_HEAD = _MOST_AHEAD = 64 * 1024
_MOST_UNTAKEN = 512 * 1024
"""The maximum number of bytes of a body that the API has not yet read. uvicorn stops reading at 64 KiB of content,
which can arrive as one-byte chunks with five bytes of framing each. One more piece can be in flight."""
_END_OF_HEAD = b"\r\n\r\n"
_TOO_LARGE = unread(431, "the request line and headers are over 64 KiB: send large data in the body")
_LARGE_WRITE = 64 * 1024
_LONGEST_LOOK = 1.0  # seconds between two checks for late connections


class Connections:
    """All connections of a process. A request must arrive within ``receive`` seconds, and the client must read the
    response within ``send`` seconds."""

    def __init__(self, *, receive: float, send: float, most: int = MOST) -> None:
        self.receive, self.send, self._most = receive, send, most
        self._look_every = min(receive / 2, send / 2, _LONGEST_LOOK)
        self._open: set[_Connection] = set()
        self._waiting: dict[_Connection, None] = {}
        self._is_looking = False

    def protocol(self, **given: Any) -> asyncio.Protocol:
        """The protocol factory that uvicorn calls for each connection."""
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
        """Records that the connection now waits for a request."""
        self._waiting[connection] = None

    def serve(self, connection: "_Connection") -> None:
        """Records that the connection now serves a request."""
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
    """A transport that joins the writes of one turn of the event loop into one system call. uvicorn writes the head and
    the body of a response separately, and a system call costs both sides as much as all other work on the data."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        if len(data) > _LARGE_WRITE:  # the transport must know how much data is unread
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
    """One connection, in front of uvicorn's protocol.

    Only the head of a request is passed on before the request begins. So the headers are complete at that time, and
    contain no trailers.
    """

    def __init__(self, connections: Connections, *, app_state: dict[str, Any], **given: Any) -> None:
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._uvicorn = HttpToolsProtocol(app_state={**app_state, CONNECTION: self}, **given)
        self._arrives_by = self._read_by = inf
        self._left = 0.0  # seconds that are left for the body to arrive
        self._untaken = self._unanswered = 0
        self._in_body = False
        self._tail = self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass
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
        if not self._unanswered and len(rest) > _MOST_AHEAD:  # the request has already been answered
            self.cut()
        else:
            self.data_received(rest)

    def begin(self, *, has_body: bool) -> None:
        """Records that a request begins. If it arrived before the previous response was sent, its bytes still count as
        sent ahead."""
        if not self._unanswered:
            self._untaken, self._in_body = 0, has_body
        self._unanswered += 1
        self._left, self._arrives_by = self._connections.receive, inf
        self._connections.serve(self)

    def ask(self) -> None:
        """Records that the API waits for more of a body."""
        self._arrives_by = self._loop.time() + self._left

    def take(self, *, more: bool) -> None:
        """Records that the API has read the part of a body that has arrived. The clock stops until the API asks for
        more."""
        self._left, self._arrives_by = self._arrives_by - self._loop.time(), inf
        if self._in_body:
            self._untaken, self._in_body = 0, more

    def answer(self) -> None:
        """Records that a request has been answered. A pipelined next request begins before ``_look_on`` runs."""
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
        """Aborts the connection in any state."""
        self._connections.remove(self)
        self._rest = b""
        self._transport.abort()
