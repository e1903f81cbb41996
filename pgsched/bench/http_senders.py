"""The same callbacks with no database: by pgsched's delivery client alone, and by a bare asyncio protocol.

They are what the rate of the whole is held against: the first is what delivering costs, the second what sending these
bytes and parsing the answers costs at least.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httptools
import uvloop

from pgsched.bench.processes import answers_of
from pgsched.bench.receiver import CallbackReceiver
from pgsched.delivery.http import HttpChannel
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.options import parse_options
from pgsched.domain.outcome import Succeeded

CONNECTIONS = 100
PAYLOAD = b'{"order": 42, "merchant": "abcdefghij"}'
_LANES = CONNECTIONS  # one that finds no connection free has not begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The system-wide monotonic moments of begin and end, and the CPU seconds between them, of one process."""

    started: float
    ended: float
    cpu_seconds: float


def call_alone(receiver: CallbackReceiver, *, count: int, processes: int, bare: bool) -> dict[str, Any]:
    """Sends count callbacks; tells how many a second, and how many a second of the senders' CPU.

    Raises AssertionError when one fails, is lost or comes twice.
    """
    shares = [(receiver.url, range(number, count, processes), bare) for number in range(processes)]
    spent: list[Spent] = answers_of(_main, shares, within=600)
    received = receiver.take_each_once({str(UUID(int=number)).encode() for number in range(count)})
    seconds = max(one.ended for one in spent) - min(one.started for one in spent)
    return {
        "rate": round(count / seconds),
        "per_cpu_second": round(count / sum(one.cpu_seconds for one in spent)),
        "receiver_busy": round(received.cpu_seconds / seconds, 2),
    }


def _main(url: str, numbers: range, bare: bool, ready: Any, answers: Any) -> None:
    answers.put(uvloop.run((_protocol if bare else _channel)(url, numbers, ready)))


async def _channel(url: str, numbers: range, ready: Any) -> Spent:
    channel = HttpChannel(
        connections_per_host=CONNECTIONS,
        concurrency=_LANES,
        allow_private=True,
        secrets=lambda _: (),
        now=lambda: int(time.time()),
    )
    options, waiting = parse_options(None), iter(numbers)

    async def lane() -> None:
        for number in waiting:
            outcome = await channel.deliver(_execution(url, number), options, options.timeout_seconds)
            if not isinstance(outcome, Succeeded):
                raise AssertionError(f"a callback came to {outcome}")

    ready.wait(60)
    started, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(lane() for _ in range(min(_LANES, len(numbers)))))
    spent = Spent(started=started, ended=time.monotonic(), cpu_seconds=time.process_time() - cpu)
    await channel.close()
    return spent


def _execution(url: str, number: int) -> ClaimedExecution:
    return ClaimedExecution(
        partition=0,
        id=number.to_bytes(16, "big"),
        token=1,
        attempt=1,
        fire_at=0,
        scheduled_for=0,
        client_id="default",
        target=url,
        payload=PAYLOAD,
        options=None,
        job_id=None,
        plan=None,
        key=None,
        ordering_key=None,
    )


async def _protocol(url: str, numbers: range, ready: Any) -> Spent:
    loop, host, port = asyncio.get_running_loop(), str(urlsplit(url).hostname), urlsplit(url).port or 80
    waiting = iter(numbers)
    ready.wait(60)
    started, cpu = time.monotonic(), time.process_time()
    ends = []
    for _ in range(min(CONNECTIONS, len(numbers))):
        _, caller = await loop.create_connection(lambda: _Caller(url, waiting), host, port)
        ends.append(caller.ended)
    await asyncio.gather(*ends)
    return Spent(started=started, ended=time.monotonic(), cpu_seconds=time.process_time() - cpu)


class _Caller(asyncio.Protocol):
    """One connection: the next request once the last is answered. The headers are as many as pgsched sends."""

    def __init__(self, url: str, numbers: Iterator[int]) -> None:
        address = urlsplit(url)
        self._head = (
            f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {len(PAYLOAD)}\r\n"
            "Content-Type: application/json\r\nAccept-Encoding: identity\r\nUser-Agent: pgsched\r\n"
            "webhook-timestamp: 1767225600\r\npgsched-attempt: 1\r\npgsched-scheduled-for: 2026-01-01T00:00:00Z\r\n"
            "pgsched-deadline: 2026-01-01T00:00:30Z\r\n"
            "traceparent: 00-00000000000000000000000000000001-0000000000000001-00\r\n"
        )
        self._numbers = numbers
        self._parser = httptools.HttpResponseParser(self)
        self._transport: Any = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._call_next()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(error or ConnectionError("the receiver closed the connection"))

    def on_message_complete(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._call_next()

    def _call_next(self) -> None:
        number = next(self._numbers, None)
        if number is None:
            self.ended.set_result(None)
            self._transport.close()
            return
        id = str(UUID(int=number))
        head = f"{self._head}Idempotency-Key: {id}\r\nwebhook-id: {id}\r\n\r\n"
        self._transport.write(head.encode() + PAYLOAD)
