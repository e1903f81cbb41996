"""The demo's receiving end: a small HTTP server that notes what arrives and when, and the table it is shown in."""

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from httptools import HttpRequestParser

from pgsched.cli.reply import table


@dataclass(slots=True)
class Receiver:
    """Arrived callbacks by name: each scheduled instant with the lateness in ms of its first arrival."""

    instants: dict[str, dict[datetime, float]] = field(default_factory=lambda: defaultdict(dict))
    numbers: set[int] = field(default_factory=set)

    def receive(self, path: str, scheduled_for: str) -> None:
        """Takes one callback to /name/number. It runs on the same machine as the database, so the clocks agree."""
        arrived = time.time()
        instant = datetime.fromisoformat(scheduled_for)
        _, name, number = path.split("/")
        self.instants[name].setdefault(instant, (arrived - instant.timestamp()) * 1000)
        if name == "once":
            self.numbers.add(int(number))

    def rows(self, expected: Mapping[str, str]) -> str:
        """The table: a line for each name, with what it is expected to bring."""
        lines = [self._row(name, what) for name, what in expected.items()]
        return table(("what", "arrived", "p50 ms", "p99 ms", "max ms", "last ms"), lines)

    def lateness(self, name: str) -> dict[str, float]:
        """p50, p99, maximum and last lateness in ms; empty before anything arrived."""
        late = list(self.instants[name].values())
        if not late:
            return {}
        ordered = sorted(late)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        values = {"p50_ms": statistics.median(ordered), "p99_ms": p99, "max_ms": ordered[-1], "last_ms": late[-1]}
        return {name: round(value, 2) for name, value in values.items()}

    def arrived(self, name: str) -> int:
        return len(self.numbers) if name == "once" else len(self.instants[name])

    def missing(self, name: str, every: timedelta, *, until: datetime) -> list[datetime]:
        """Instants between a recurring job's first and ``until`` that did not arrive."""
        found = self.instants[name]
        if not found:
            return [until]
        first = min(found)
        count = max(0, (until - first) // every)
        return [instant for n in range(count + 1) if (instant := first + n * every) not in found]

    def _row(self, name: str, what: str) -> tuple[object, ...]:
        late = self.lateness(name)
        cells = [f"{late[key]:.1f}" if late else None for key in ("p50_ms", "p99_ms", "max_ms", "last_ms")]
        return (what, self.arrived(name), *cells)


class _ReceiverConnection(asyncio.Protocol):
    """Notes every request on one connection, and answers it."""

    def __init__(self, receiver: Receiver, opened: set[asyncio.Transport]) -> None:
        self._arrivals, self._opened = receiver, opened
        self._parser = HttpRequestParser(self)
        self._path = self._scheduled_for = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._opened.add(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._opened.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._path = self._scheduled_for = b""

    def on_url(self, part: bytes) -> None:
        self._path += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"pgsched-scheduled-for":
            self._scheduled_for = value

    def on_message_complete(self) -> None:
        self._arrivals.receive(self._path.decode("ascii"), self._scheduled_for.decode("ascii"))
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[str]:
    """Listens on a free port of this machine; yields the address."""
    opened: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _ReceiverConnection(receiver, opened), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for transport in opened:
            transport.abort()
        await server.wait_closed()
