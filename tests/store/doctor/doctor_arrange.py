"""Run single checks of the doctor, and arrange workers, days and a slow network."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import psycopg

from pgsched.sealing import KeyRing
from pgsched.store import internal_verbs
from pgsched.store.admin import worker_registry
from pgsched.store.core.new_connection import lending, transaction_async
from pgsched.store.doctor.examination import CHECKS, make
from pgsched.store.doctor.finding import Bounds, Finding
from pgsched.version import __version__


async def look(url: str, name: str, *, ring: KeyRing | None = None, **bounds: Any) -> list[Finding]:
    """Run one check and return its findings."""
    async with lending(url) as lend:
        return await make(lend, name, CHECKS[name], url=url, ring=ring, bounds=Bounds(**bounds))


async def seen(url: str, name: str, **more: Any) -> list[tuple[str, str]]:
    """Run one check and return the severity and ``seen`` of each finding."""
    found = await look(url, name, **more)
    assert {finding.check for finding in found} <= {name}
    assert all(finding.why and finding.do for finding in found)
    return [(finding.severity, finding.seen) for finding in found]


async def register(url: str, *, queues: list[str] | None = None, release: str = __version__, term: float = 60) -> int:
    """Register a worker that expires after ``term`` seconds, and return its id."""
    introduction = worker_registry.Introduction(
        name="host-1",
        instance="abcdef",
        queues=queues or ["default"],
        release=release,
        delivers=[],
        concurrency=200,
        lease=timedelta(seconds=30),
        term=timedelta(seconds=term),
    )
    async with transaction_async(url) as connection:
        return await worker_registry.register(connection, introduction)


async def make_days(url: str, *, ahead: int = 14) -> None:
    """Make days as a worker does."""
    async with transaction_async(url) as connection:
        for parent, day in await internal_verbs.days_to_make(connection, ahead=ahead):
            assert await internal_verbs.make_day(connection, parent, day)
            assert await internal_verbs.attach_day(connection, parent, day)


@contextmanager
def session_of_the_worker(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Open a session with the name of the registered worker, which shows that its process exists."""
    with psycopg.connect(url, autocommit=True, application_name="pgsched listen abcdef") as session:
        yield session


@dataclass(slots=True)
class Network:
    """A network that delays the server's answers by ``delay`` seconds, which can be changed."""

    url: str
    delay: float


@asynccontextmanager
async def slowed(url: str, delay: float = 0.0) -> AsyncIterator[Network]:
    """Reach the same server through a network with this delay."""
    parts = urlsplit(url)
    network = Network(url, delay)
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())  # type: ignore[arg-type]
        there, back = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            await asyncio.gather(_pump(reader, back, None), _pump(there, writer, network))
        finally:
            for end in (back, writer):
                end.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as relay:
        port = relay.sockets[0].getsockname()[1]
        network.url = parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}").geturl()
        try:
            yield network
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, network: Network | None) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            if network is not None:
                await asyncio.sleep(network.delay)
            writer.write(data)
        writer.close()
