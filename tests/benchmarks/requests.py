"""Measures how many one-shots a second the API schedules, with and without keys, or how long each takes at a rate."""

import asyncio
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import click
import psycopg

from pgsched.api.server import serve
from pgsched.bench.database import fresh_database
from pgsched.bench.medians import medians
from pgsched.bench.processes import CONTEXT
from pgsched.bench.seed_rows import Progress
from pgsched.bench.server_cpu import SECONDS_A_TICK, ticks
from pgsched.cli.bench import COUNT, ROUNDS, on_server, progress, tell
from pgsched.settings import Settings
from tests.api.access_arrange import make_key

_BODY = {
    "target": "https://shop.example/callback",
    "payload": {"order": 42, "merchant": "abcdefghij"},
    "schedule": {"delay": "PT1H"},
}
_WAYS = ("plain", "keyed")
_WITHIN = 60
_CALLERS = itertools.count()
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load of one measurement: callers, duration, key prefix, and requests a second; without a rate, each caller
    sends its next request as soon as the last is answered."""

    callers: int
    seconds: float
    prefix: str | None
    rate: int | None = None
    token: str | None = None


def run_requests(
    url: str | None,
    *,
    callers: int,
    seconds: float,
    queues: int = 1,
    rounds: int = 1,
    rate: int | None = None,
    api_key: bool = False,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Returns the POST /v1/jobs answered per second by one API process, for all callers together; calls with and
    without keys take turns.

    With a ``rate``, requests are due at even intervals regardless of earlier ones, and their time runs from that
    instant to the answer. No worker runs. Every answer must match one row by its id. More ``queues`` mean more
    partitions, all of which are searched for a key, so that takes longer. The CPU time of the API process per request
    makes runs comparable on a shared machine.
    """
    with fresh_database(url) as own, psycopg.connect(own, autocommit=True) as connection:
        token = str(make_key(connection)) if api_key else None
        for number in range(1, queues):
            connection.execute("select pgsched.create_queue(%s)", [f"queue-{number}"])
        with api_of(own) as (address, pid):
            load = Load(callers=callers, seconds=seconds, prefix=None, rate=rate, token=token)
            _measure(connection, address, replace(load, seconds=min(seconds, 1), rate=None))  # to warm up
            measured = [_round(connection, address, pid, load, number, progress) for number in range(rounds)]
    asked = {"callers": callers, "seconds": seconds, "queues": queues, "rate": rate, "api_key": api_key}
    return asked | medians(measured)


def _round(
    connection: psycopg.Connection[Any], address: str, pid: int, load: Load, number: int, progress: Progress
) -> dict[str, Any]:
    """Measures both once; the order alternates between rounds."""
    found: dict[str, Any] = {}
    for way in _WAYS if number % 2 == 0 else reversed(_WAYS):
        before = ticks(pid)
        took = _measure(connection, address, replace(load, prefix=f"round-{number}" if way == "keyed" else None))
        found |= {f"{way}_rate": round(len(took) / load.seconds)}
        found |= {f"{way}_p{part}_ms": round(took[len(took) * part // 100] * 1000, 1) for part in (50, 99)}
        found |= {f"{way}_api_cpu_us": round((ticks(pid) - before) * SECONDS_A_TICK / len(took) * 1e6)}
    progress(", ".join(f"{name} {value}" for name, value in found.items()))
    return found | {"ratio": round(found["keyed_rate"] / found["plain_rate"], 3)}


def _measure(connection: psycopg.Connection[Any], address: str, load: Load) -> list[float]:
    """Returns the seconds that each request took, in ascending order."""
    answered = asyncio.run(_call(urlsplit(address).netloc, load))
    kept = [str(row[0]) for row in connection.execute("select id from pgsched.executions")]
    if sorted(kept) != sorted(id for id, _ in answered):
        raise AssertionError(f"{len(answered)} answered, {len(set(answered))} distinct; {len(kept)} kept")
    connection.execute("truncate pgsched.executions")
    return sorted(seconds for _, seconds in answered)


async def _call(netloc: str, load: Load) -> list[tuple[str, float]]:
    """Returns the id in each answer, and how long the request took."""
    loop, host, _, port = asyncio.get_running_loop(), *netloc.rpartition(":")
    due = _due(load)
    made = [
        loop.create_connection(lambda: _Caller(due, _bodies(netloc, load)), host, int(port))
        for _ in range(load.callers)
    ]
    callers = [caller for _, caller in await asyncio.gather(*made)]
    async with asyncio.timeout(load.seconds + _WITHIN):
        await asyncio.gather(*[caller.ended for caller in callers])
    return [one for caller in callers for one in caller.answered]


def _due(load: Load) -> Iterator[float]:
    """Yields the instants of the requests, each to the next free caller."""
    started = time.monotonic()
    if load.rate is not None:
        yield from (started + number / load.rate for number in range(round(load.seconds * load.rate)))
    else:
        while (now := time.monotonic()) < started + load.seconds:
            yield now


def _bodies(netloc: str, load: Load) -> Callable[[], bytes]:
    caller, count = next(_CALLERS), itertools.count()
    key = "" if load.token is None else f"Authorization: Bearer {load.token}\r\n"
    head = f"POST /v1/jobs HTTP/1.1\r\nHost: {netloc}\r\nContent-Type: application/json\r\n{key}"

    def made() -> bytes:
        named = {} if load.prefix is None else {"key": f"{load.prefix}-{caller}-{next(count)}"}
        body = json.dumps(_BODY | named)
        return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    return made


class _Caller(asyncio.Protocol):
    """Sends one request after another on one connection. It is cheap, since the machine's time belongs to API and
    server."""

    def __init__(self, due: Iterator[float], made: Callable[[], bytes]) -> None:
        self._due, self._made, self._received, self._at = due, made, b"", 0.0
        self.answered: list[tuple[str, float]] = []
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._go_on()

    def _go_on(self) -> None:
        at = next(self._due, None)
        if at is None:
            self._transport.close()
            return
        self._at = at
        if (wait := at - time.monotonic()) > 0:
            asyncio.get_running_loop().call_later(wait, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._transport.write(self._made())

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or length is None or len(body) < int(length[1]):
            return
        if not head.startswith(b"HTTP/1.1 201 "):
            self.ended.set_exception(AssertionError(f"the API answered {self._received[:300]!r}"))
            self._transport.abort()
            return
        self.answered.append((json.loads(body)["id"], time.monotonic() - self._at))
        self._received = b""
        self._go_on()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


@contextmanager
def api_of(url: str) -> Iterator[tuple[str, int]]:
    """Yields the URL of an API in its own process, and the process id."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(url, there), daemon=True)
    process.start()
    try:
        if not here.poll(_WITHIN) or process.pid is None:
            raise AssertionError("the API did not start")
        yield here.recv(), process.pid
    finally:
        process.terminate()
        process.join(_WITHIN)


def _serve(url: str, started: Any) -> None:
    serve(Settings(database_url=url, host="127.0.0.1", port=0), listening=started.send)


@click.command()
@click.option(
    "--callers", default=8, show_default=True, type=click.IntRange(1, 64), help="Number of concurrent callers."
)
@click.option("--seconds", default=5, show_default=True, type=COUNT, help="Seconds with and without keys each.")
@click.option("--queues", default=1, show_default=True, type=click.IntRange(1, 100), help="Number of queues.")
@click.option("--rate", type=COUNT, help="Requests per second; by default, each follows the previous answer.")
@click.option("--api-key", is_flag=True, help="Send an API key.")
@ROUNDS
@on_server
def requests(database_url: str | None, as_json: bool, **asked: Any) -> None:
    """Schedule through the API, without keys and with a new key each time, and compare."""
    tell(run_requests(database_url, progress=progress, **asked), as_json)


if __name__ == "__main__":
    requests()
