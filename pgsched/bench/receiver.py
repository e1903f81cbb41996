"""A local callback receiver in its own process.

The receiver responds as fast as it can, by default with 204, and records each webhook-id and its time of arrival.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import httptools
import uvloop

from pgsched.bench.processes import CONTEXT, running

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What the receiver has recorded since the last call: the webhook-id and the monotonic time of each request, in
    order of arrival, and the CPU seconds used.
    """

    ids: list[bytes]
    moments: list[float]
    cpu_seconds: float


@dataclass(slots=True)
class CallbackReceiver:
    """The receiver process; ``url`` is where callbacks are sent."""

    url: str
    pipe: Connection

    def answer(self, answer: bytes) -> float:
        """Sets the raw response to all further requests. Returns the time at which the response took effect."""
        self.pipe.send(answer)
        since: float = self._told()
        return since

    def take(self) -> Received:
        """Returns what has been recorded since the last call."""
        self.pipe.send(None)
        received: Received = self._told()
        return received

    def _told(self) -> Any:
        if not self.pipe.poll(_LONGEST):
            raise AssertionError("the receiver does not answer")
        return self.pipe.recv()

    def take_each_once(self, ids: set[bytes]) -> Received:
        """Like ``take``, but raises AssertionError unless each of these ids has arrived exactly once, and no other."""
        received = self.take()
        came = set(received.ids)
        if came != ids or len(received.ids) != len(ids):
            raise AssertionError(
                f"of {len(ids)} callbacks, {len(ids - came)} are missing, {len(received.ids) - len(came)} are "
                f"duplicates and {len(came - ids)} are unknown"
            )
        return received


@contextmanager
def receiving() -> Iterator[CallbackReceiver]:
    """Runs the receiver on a free local port during the block."""
    ours, theirs = CONTEXT.Pipe()
    with running(_main, [(theirs,)]):
        if not ours.poll(_LONGEST):
            raise AssertionError("the receiver did not start")
        yield CallbackReceiver(f"http://127.0.0.1:{ours.recv()}/callback", ours)


def _main(pipe: Connection) -> None:
    uvloop.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    kept = _Kept()
    server = await loop.create_server(lambda: _Answering(kept), "127.0.0.1", 0, backlog=1024)
    pipe.send(server.sockets[0].getsockname()[1])
    cpu = time.process_time()
    while True:
        answer = await loop.run_in_executor(None, pipe.recv)
        if answer is not None:
            kept.answer = answer
            await loop.run_in_executor(None, pipe.send, time.monotonic())
            continue
        received = Received(ids=kept.ids, moments=kept.moments, cpu_seconds=time.process_time() - cpu)
        kept.ids, kept.moments = [], []
        await loop.run_in_executor(None, pipe.send, received)
        cpu = time.process_time()


@dataclass(slots=True)
class _Kept:
    """The state shared by all connections."""

    answer: bytes = _ANSWER
    ids: list[bytes] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)


class _Answering(asyncio.Protocol):
    def __init__(self, kept: _Kept) -> None:
        self._kept = kept
        self._parser = httptools.HttpRequestParser(self)
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name == b"webhook-id" or name.lower() == b"webhook-id":
            self._kept.ids.append(value)
            self._kept.moments.append(time.monotonic())

    def on_message_complete(self) -> None:
        self._transport.write(self._kept.answer)
