"""The way to the database: what is slow or wrong on it. Poolers are in tests/poolers."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest

from pgsched.store.doctor import access
from tests.store.doctor.doctor_arrange import look, seen


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    try:
        while data := await reader.read(65_536):
            await asyncio.sleep(delay)
            writer.write(data)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def _slowly(url: str, delay: float) -> AsyncIterator[str]:
    """The same server by a network that takes its time with answers."""
    parts = urlsplit(url)
    served: list[asyncio.Future[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done = asyncio.get_running_loop().create_future()
        served.append(done)
        there, back = await asyncio.open_connection(parts.hostname, parts.port)
        await asyncio.gather(_pump(reader, back, 0.0), _pump(there, writer, delay), return_exceptions=True)
        done.set_result(None)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as relay:
        port = relay.sockets[0].getsockname()[1]
        yield parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{port}").geturl()
        await asyncio.gather(*served)


async def test_a_notification_that_takes_its_time_is_told(database_url: str) -> None:
    assert await seen(database_url, "round trip") == []
    async with _slowly(database_url, 0.03) as slow:
        [(severity, text)] = await seen(slow, "round trip", round_trip=0.03)
    assert severity == "warning"
    assert text.startswith("a notification took")


async def test_a_notification_that_does_not_arrive_is_an_error(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "_HEARD_WITHIN", 0.05)
    monkeypatch.setattr(access, "listen", lambda *_: asyncio.sleep(0))
    assert [severity for severity, _ in await seen(database_url, "round trip")] == ["error"]


@pytest.mark.parametrize(("ahead", "side"), [(10.0, "ahead of"), (-10.0, "behind")])
async def test_a_clock_that_is_not_the_databases_is_told(
    database_url: str, monkeypatch: pytest.MonkeyPatch, ahead: float, side: str
) -> None:
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + ahead)
    [found] = await look(database_url, "clock")
    assert found.severity == "warning"
    assert f"seconds {side} the database's" in found.seen
