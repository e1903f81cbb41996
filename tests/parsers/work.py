"""How much work it is to read what strangers send: in processor time, which other processes take nothing of."""

import asyncio
import socket
import socketserver
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

TRIES = 6
LONGEST_TURN = 0.15
"""Seconds of processor time that a turn of the loop may take, on a slow machine."""


def seconds_of(call: Callable[[], None]) -> float:
    """Processor time of this thread."""
    began = time.thread_time()
    call()
    return time.thread_time() - began


def growth(read: Callable[[int], None], size: int) -> float:
    """How many times as long as ``size`` takes what is twice as much: the least of several tries, for the first ones
    fill caches, and the machine has moods."""
    read(size)
    least = float("inf")
    for _ in range(TRIES):
        once, twice = (seconds_of(lambda sent=sent: read(sent)) for sent in (size, 2 * size))  # type: ignore[misc]
        least = min(least, twice / max(once, 1e-4))
    return least


async def longest_turn(work: Awaitable[object]) -> float:
    """The longest turn of the loop while this is under way, in processor time."""
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
    """The URL of a target that answers each request with these pieces, each sent by itself. It is in a thread, so that
    its work is not counted."""

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
