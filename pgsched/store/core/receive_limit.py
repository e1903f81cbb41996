"""Limits how many bytes a session receives from its server.

libpq reads each message whole, up to a gigabyte, collects notices and notifications, and keeps a buffer as large as the
largest message until the session ends. So a client's function could fill the worker's memory, for example with a long
error. A session setting is no protection, because a function can change settings. Everything the server sends therefore
passes through a meter on its way to libpq. At the limit, the meter ends the session.

The meter replaces the connection's socket once the socket is open, whether TCP or Unix, with or without TLS.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any

from psycopg import AsyncConnection

MOST = 4 * 1024 * 1024
"""Maximum bytes from the server for one call."""
_PIECE = 65_536


class Metered(AsyncConnection[Any]):
    """A connection behind a meter, which ``measure`` installs."""

    meter: "Meter | None" = None

    def measure(self) -> "Meter":
        """Installs the meter. Notifications to the session are dropped, because no one listens for them."""
        self.meter = Meter(self.pgconn.socket)
        self.add_notify_handler(lambda _: None)
        return self.meter

    async def close(self) -> None:
        await super().close()
        if self.meter is not None:
            self.meter.close()


class Meter:
    """Relays data in both directions. ``received`` is the number of bytes that the server has sent since the last
    ``begin``.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = socket.socket(fileno=os.dup(descriptor))
        near, self._client = socket.socketpair()
        with near:
            for end in (self._server, near, self._client):
                end.setblocking(False)
            os.dup2(near.fileno(), descriptor, inheritable=False)
        self.received = 0
        self._is_open = True
        self._down = _Way(self._loop, self._server, self._client, self._count, self.close)
        self._up = _Way(self._loop, self._client, self._server, lambda size: None, self.close)

    @property
    def is_over(self) -> bool:
        """Whether the server has exceeded the limit."""
        return self.received > MOST

    def begin(self) -> None:
        """Starts counting for the next call."""
        self.received = 0

    def close(self) -> None:
        """Closes both sides, after passing on the client's last message, which ends the session."""
        if not self._is_open:
            return
        self._is_open = False
        self._down.close()
        self._up.close()
        with suppress(OSError):
            self._server.send(self._client.recv(_PIECE))
        self._client.close()
        self._server.close()

    def _count(self, size: int) -> None:
        self.received += size
        if self.is_over:
            self.close()


class _Way:
    """Relays data in one direction. Reads nothing more while data is unsent."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, source: socket.socket, drain: socket.socket, count: Any, over: Any
    ) -> None:
        self._loop, self._source, self._drain = loop, source, drain
        self._count, self._over = count, over
        self._left = b""
        loop.add_reader(source, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._source)
        if self._left:
            self._loop.remove_writer(self._drain)

    def _read(self) -> None:
        try:
            data = self._source.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._over()
            return
        self._count(len(data))
        if self._drain.fileno() >= 0:
            self._send(data)

    def _send(self, data: bytes) -> None:
        try:
            data = data[self._drain.send(data) :]
        except BlockingIOError:
            pass
        except OSError:
            self._over()
            return
        if data and not self._left:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._drain, self._go_on)
        elif self._left and not data:
            self._loop.remove_writer(self._drain)
            self._loop.add_reader(self._source, self._read)
        self._left = data

    def _go_on(self) -> None:
        self._send(self._left)
