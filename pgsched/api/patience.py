"""Timeouts and limits of the API's connections: for a request to arrive, and for its answer to be read.

A stalled connection costs memory and a file descriptor, and a thousand of them would starve others. So it is closed;
and for each beyond 2,000 the one that has been without a request that was let in for longest. So are those whose
request has a head of more than 64 KiB, or a body with more around it than in it, and those that send 64 requests ahead
of their answers, because uvicorn buffers all that arrive.

Where the answer is there before all of the request, as where that is refused, it ends the connection. What still comes
then is not parsed, and for two seconds at most.

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
from functools import partial
from typing import Any, cast

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pgsched.api.joining import Flow, Joining
from pgsched.api.problems import unread

_MANY = 200
MOST = 2000
"""Connections of a process, where it has descriptors for so many."""
_MOST_AHEAD = 64
_IDLE = 130.0
_LARGEST_HEAD = 64 * 1024
_MOST_HEADERS, _LONGEST_URL, _MOST_PARAMETERS = 256, 32 * 1024, 500
_MOST_FRAMING, _FRAMING_OF_A_BYTE = 2 * _LARGEST_HEAD, 8  # a chunk of one byte has five around it
_LINGERS, _MOST_SURPLUS = 2.0, 4 * 1024 * 1024  # seconds and bytes after the answer to a request that goes on coming
_ONCE = (b"host", b"origin", b"authorization")
"""Headers of which a proxy may read one and the API another, were there two."""
_TOO_LARGE = unread(
    431,
    "the line and the headers of the request are over 64 KiB: send what is large in the body; or it has over 256 "
    "headers, 500 parameters, or 32 KiB of URL",
)
_UNREADABLE = unread(
    400,
    "this is no request of HTTP/1.1 that can be read, it has two of a header, or there are more than 64 ahead of it",
)


class _Unread(Exception):
    """A request that is not read. Raised where the parser calls back it ends the parser, which would go on through all
    that has arrived."""

    def __init__(self, answer: bytes = _UNREADABLE) -> None:
        self.answer = answer


class _Crowd:
    """The connections that wait for a request, or for the rest of one, those first that have waited for longest.

    Where there are too many of all, the first of these is cut for a new one: so whoever holds connections without
    asking for anything keeps nobody else out. A request that was let in is under way, and not cut for others.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._waiting: dict[_Patient, None] = {}

    def add(self, connection: "_Patient") -> None:
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def remove(self, connection: "_Patient") -> None:
        self._waiting.pop(connection, None)

    def make_room(self) -> None:
        found = next((one for one in self._waiting if not one.is_let_in), None)
        if found is not None:
            found.cut()


class _Patient(HttpToolsProtocol):
    """One connection. Of a request, ``_head`` counts the bytes of its head, ``_body`` those of its body, and
    ``_framing`` those between them and behind them."""

    def __init__(self, *args: Any, receiving: float, sending: float, crowd: _Crowd, **options: Any) -> None:
        super().__init__(*args, **options)
        self._receiving, self._sending, self._crowd = receiving, sending, crowd
        self._arriving: asyncio.TimerHandle | None = None
        self._allowed = 0.0
        self._looks = 0
        self._unread: asyncio.TimerHandle | None = None
        self._head = self._body = self._framing = 0
        self._in_body = self._is_arriving = self._keeps = False
        self._line = bytearray()
        self._pieces: list[bytes] = []
        self._surplus = 0
        self._lingering: asyncio.TimerHandle | None = None

    @property
    def is_let_in(self) -> bool:
        """Whether it has a request that a key was good for."""
        return self.cycle is not None and not self.cycle.response_complete and "auth" in self.cycle.scope

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        joining = Joining(transport, self.loop, is_unfinished=lambda: self._is_arriving, linger=self._ignore_what_comes)
        super().connection_made(cast(asyncio.Transport, joining))
        self.flow = self._flow = Flow(transport)
        self._expect()
        if len(self.connections) > self._crowd.most:
            self._crowd.make_room()

    def data_received(self, data: bytes) -> None:
        """A line of a head is put together from all of its pieces: so one that comes in many would cost more than its
        bytes."""
        if self._lingering is not None:
            self._surplus += len(data)
            if self._surplus > _MOST_SURPLUS:
                self.cut()
            return
        self._unset_keepalive_if_required()
        if not self._in_body:
            self._expect()
            self._is_arriving = True
            begun, self._head = self._head, self._head + len(data)
            if begun and b"\n" not in data and self._head <= _LARGEST_HEAD:
                self._line += data
                return
            if self._line:
                data = bytes(self._line + data)
                self._line.clear()
        self._read(data)

    def _read(self, data: bytes) -> None:
        before = self._body
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade:  # to nothing that is spoken here: it is answered as if it had not been asked for
            self._keeps = self.cycle.keep_alive = False
        except HttpParserError as error:
            cause = error.__context__
            self._refuse(cause.answer if isinstance(cause, _Unread) else _UNREADABLE)
            return
        self._join_pieces()
        if self._in_body:
            self._framing += len(data) - (self._body - before)
            if self._framing > _MOST_FRAMING + _FRAMING_OF_A_BYTE * self._body:
                self._refuse(_UNREADABLE)
        elif self._head > _LARGEST_HEAD:
            self._refuse(_TOO_LARGE)

    def _refuse(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self._is_arriving = True
            self.transport.write(answer)
            self.transport.close()

    def _ignore_what_comes(self) -> None:
        """Until the client closes, too, which it does once it has read the answer: but not for long, and not much."""
        self._arrived()
        self.flow.resume_reading()
        self._lingering = self.loop.call_later(_LINGERS, self.cut)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_body:  # behind it: whoever looked at the head has not seen it
            return
        if len(self.headers) >= _MOST_HEADERS:
            raise _Unread(_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_AHEAD:
            raise _Unread
        if len(self.url) > _LONGEST_URL or self.url.count(b"&") > _MOST_PARAMETERS:
            raise _Unread(_TOO_LARGE)
        self._head = self._body = self._framing = 0
        self._in_body = True
        names = [name for name, _ in self.headers]
        if any(names.count(name) > 1 for name in _ONCE):
            raise _Unread
        super().on_headers_complete()
        # Until all of it has come, its answer ends the connection: what was not wanted is not waited for.
        self._keeps, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        """A piece may be one byte of thousands that arrived together: they are joined, instead of appended each."""
        self._body += len(body)
        self._pieces.append(body)

    def _join_pieces(self) -> None:
        if self._pieces:
            body = b"".join(self._pieces)
            self._pieces.clear()
            super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._was_read()
        self._crowd.remove(self)
        if self._lingering is not None:
            self._lingering.cancel()
        self.pipeline.clear()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        self._keeps = False
        super().shutdown()

    def on_response_complete(self) -> None:
        self._looks = 0
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()  # until all that was sent ahead has its answer
        elif not self._is_arriving:
            self._crowd.add(self)

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
        self._is_arriving = True

    def on_message_complete(self) -> None:
        self._join_pieces()
        self._arrived()
        self._crowd.remove(self)
        self._head, self._in_body, self._is_arriving = 0, False, False
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._sending, self.cut)

    def resume_writing(self) -> None:
        self._was_read()
        super().resume_writing()

    def _expect(self) -> None:
        if self._arriving is None:
            self._crowd.add(self)
            self._allowed = self._flow.paused()
            self._arriving = self.loop.call_later(self._receiving, self._late)

    def _late(self) -> None:
        """Cuts the connection, unless the API did not read for a part of the time: that is added."""
        paused = self._flow.paused()
        more, self._allowed = paused - self._allowed, paused
        if more > 0:
            self._arriving = self.loop.call_later(more, self._late)
        else:
            self.cut()

    def _arrived(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def cut(self) -> None:
        """Ends the connection, whatever is under way on it."""
        self._crowd.remove(self)
        self.connections.discard(self)
        self.transport.abort()


def patient(*, receiving: float, sending: float, most: int = MOST) -> Any:
    """The protocol of a server that waits for so many seconds: for all of a request, and for a client that does not
    read. It has at most so many connections."""
    return partial(_Patient, receiving=receiving, sending=sending, crowd=_Crowd(most))
