"""Measures the work of parsing untrusted input in processor time, which other processes do not affect."""

import asyncio
import socket
import socketserver
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

TRIES = 6
LONGEST_TURN = 0.15
"""The longest turn of the loop allowed, in seconds of processor time, on a slow machine."""


def seconds_of(call: Callable[[], None]) -> float:
    """Returns the processor time, in seconds, that the call takes in this thread."""
    began = time.thread_time()
    call()
    return time.thread_time() - began


def growth(read: Callable[[int], None], size: int) -> float:
    """Returns the time for twice ``size`` relative to the time for ``size``. It is the minimum of several tries, since
    the first ones fill caches and machines are noisy."""
    read(size)
    least = float("inf")
    for _ in range(TRIES):
        once, twice = (seconds_of(lambda sent=sent: read(sent)) for sent in (size, 2 * size))  # type: ignore[misc]
        least = min(least, twice / max(once, 1e-4))
    return least


async def longest_turn(work: Awaitable[object]) -> float:
    """Returns the longest turn of the loop during ``work``, in processor time."""
    loop = asyncio.get_running_loop()
    longest, turned = 0.0, time.thread_time()
    handle: asyncio.Handle | None = None

    def turn() -> None:
        nonlocal longest, turned, handle
        now = time.thread_time()
        longest, turned = max(longest, now - turned), now
        handle = loop.call_later(0, turn)

    turn()
    try:
        await work
    finally:
        if handle is not None:
            handle.cancel()
    return longest


@contextmanager
def saying_in_a_thread(pieces: Sequence[bytes]) -> Iterator[str]:
    """Yields the URL of a target that answers each request with these pieces, each sent separately. It runs in a
    thread, so that its own work is not measured."""

    class Saying(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError):
                self.request.recv(65_536)
                for piece in pieces:
                    self.request.sendall(piece)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, request_queue_size = True, 100

    with Server(("127.0.0.1", 0), Saying) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            serving.join()
