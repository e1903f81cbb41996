"""The transport of one of the API's connections: it joins what is written, and knows how long nothing was read."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl

_LARGEST_PIECE = 64 * 1024


class Flow(FlowControl):
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


class Joining:
    """A transport that sends what is written in one turn of the loop by one call of the system: uvicorn writes the head
    of an answer and its body apart, and each call costs as much as the rest of the writing, here and where it is
    read.

    Where ``is_unfinished`` says that the client may still be sending, ``close`` ends this side alone and calls
    ``linger``: a connection that is closed with something unread takes the answer away from a client that has not read
    it yet.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        *,
        is_unfinished: Callable[[], bool],
        linger: Callable[[], None],
    ) -> None:
        self._transport, self._loop = transport, loop
        self._is_unfinished, self._linger = is_unfinished, linger
        self._held: list[bytes] = []
        self._size = 0
        self._has_ended = False

    def write(self, data: bytes) -> None:
        if not self._held:
            self._loop.call_soon(self._send)
        self._held.append(data)
        self._size += len(data)
        if self._size > _LARGEST_PIECE:
            self._send()

    def close(self) -> None:
        self._send()
        if self._has_ended or self._transport.is_closing() or not self._is_unfinished():
            self._transport.close()
            return
        self._has_ended = True
        self._transport.write_eof()
        self._linger()

    def is_closing(self) -> bool:
        return self._has_ended or self._transport.is_closing()

    def _send(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._size = 0
        if data and not self.is_closing():
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
