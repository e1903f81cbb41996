"""Timeouts and limits of the API's connections: for a request to arrive, and for its answer to be read.

A stalled connection costs memory and a file descriptor, and a thousand of them would starve others. So it is closed; so
are connections beyond 2,000, those whose request has a head of more than 64 KiB, and those that send 64 requests ahead
of their answers, because uvicorn buffers all that arrive.

No time is counted while the API itself pauses reading because it is still working on what came before: a batch of a
million lines may take as long as the database needs.

Between two requests it is kept for longer than common proxies keep theirs (nginx and AWS 60 s, Traefik 90 s, Caddy two
minutes), so that it is they who close it: a request that meets the moment in which the API closes one is lost, and a
proxy does not send a POST again. Where there are more connections than proxies have, and where answers were not
read, it is closed after uvicorn's few seconds.
"""

import asyncio
import fcntl
import termios
import time
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pgsched.api.problems import unread

_MANY = 200
_MOST = 2000
_MOST_AHEAD = 64
_IDLE = 130.0
_LARGEST_HEAD = 64 * 1024
_LARGEST_PIECE = 64 * 1024
_ONCE = (b"host", b"origin", b"authorization")
"""Headers of which a proxy may read one and the API another, were there two."""
_TOO_LARGE = unread(431, "the line and the headers of the request are over 64 KiB: send what is large in the body")
_UNREADABLE = unread(
    400,
    "this is no request of HTTP/1.1 that can be read, it has two of a header, or there are more than 64 ahead of it",
)


class _Flow(FlowControl):
    """Knows how long the API has not read."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self._before, self._since = 0.0, 0.0

    def pause_reading(self) -> None:
        if not self.read_paused:
            self._since = time.monotonic()
        super().pause_reading()

    def resume_reading(self) -> None:
        self._before = self.paused()
        super().resume_reading()

    def paused(self) -> float:
        """Seconds, since the connection was made."""
        return self._before + (time.monotonic() - self._since if self.read_paused else 0.0)


class _Joining:
    """A transport that sends what is written in one turn of the loop by one call of the system: uvicorn writes the head
    of an answer and its body apart, and each call costs as much as the rest of the writing, here and where it is
    read."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        self._size += len(data)
        if self._size > _LARGEST_PIECE:
            self._send()

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._size = 0
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _TooManyAhead(Exception):
    """More requests have arrived ahead of their answers than are kept."""


class _Ambiguous(Exception):
    """A header comes twice that says who asks or whom."""


class _Patient(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *args: Any, receiving: float, sending: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._receiving, self._sending = receiving, sending
        self._arriving: asyncio.TimerHandle | None = None
        self._allowed = 0.0
        self._looks = 0
        self._unread: asyncio.TimerHandle | None = None
        self._head = 0  # bytes that have come since the last head or body was complete
        self._in_body = False
        self._pieces: list[bytes] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Joining(transport, self.loop)))
        self.flow = self._flow = _Flow(transport)
        if len(self.connections) > _MOST:
            self._cut()
        else:
            self._expect()

    def data_received(self, data: bytes) -> None:
        """A head is put together from all of its pieces: so a large one would cost more than its bytes."""
        self._head += len(data)
        super().data_received(data)
        self._join_pieces()
        if self._head > _LARGEST_HEAD and not self._in_body and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self.transport.write(_UNREADABLE)
        self.transport.close()

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_AHEAD:
            raise _TooManyAhead  # ends the parser, which would go on through all that has arrived
        self._head, self._in_body = 0, True
        names = [name for name, _ in self.headers]
        if any(names.count(name) > 1 for name in _ONCE):
            raise _Ambiguous
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece may be one byte of thousands that arrived together: they are joined, instead of appended each."""
        self._pieces.append(body)

    def _join_pieces(self) -> None:
        if self._pieces:
            body = b"".join(self._pieces)
            self._pieces.clear()
            super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._was_read()
        self.pipeline.clear()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._looks = 0
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()  # until all that was sent ahead has its answer

    def timeout_keep_alive_handler(self) -> None:
        """uvicorn's, after each of its few seconds in which nothing was asked: then it would close the connection."""
        if self.transport.is_closing():  # it broke: uvicorn leaves its timer where an error has ended a connection
            return
        self._looks += 1
        idle = self._looks * self.timeout_keep_alive
        if idle < _IDLE and len(self.connections) <= _MANY and not self._leaves_unread():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.connections.discard(self)  # so that those whose time comes at the same moment see one less
            super().timeout_keep_alive_handler()

    def _leaves_unread(self) -> bool:
        """Whether the client has not taken all of its answers from the system by now."""
        queued = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        return any(queued)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect()

    def on_message_complete(self) -> None:
        self._join_pieces()
        self._arrived()
        self._head, self._in_body = 0, False
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._sending, self._cut)

    def resume_writing(self) -> None:
        self._was_read()
        super().resume_writing()

    def _expect(self) -> None:
        if self._arriving is None:
            self._allowed = self._flow.paused()
            self._arriving = self.loop.call_later(self._receiving, self._late)

    def _late(self) -> None:
        """Cuts the connection, unless the API did not read for a part of the time: that is added."""
        paused = self._flow.paused()
        more, self._allowed = paused - self._allowed, paused
        if more > 0:
            self._arriving = self.loop.call_later(more, self._late)
        else:
            self._cut()

    def _arrived(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _cut(self) -> None:
        self.transport.abort()


def patient(*, receiving: float, sending: float) -> Any:
    """The protocol of a server that waits for so many seconds: for all of a request, and for a client that does not
    read."""
    return partial(_Patient, receiving=receiving, sending=sending)
