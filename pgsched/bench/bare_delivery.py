"""The baseline for callbacks: the delivery client alone sends the same callbacks, without a database."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import uvloop

from pgsched.bench.processes import answers_of
from pgsched.bench.receiver import CallbackReceiver
from pgsched.delivery.http import HttpChannel
from pgsched.domain.attempt_outcome import Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import parse_options

CONNECTIONS = 100
PAYLOAD = b'{"order": 42, "merchant": "abcdefghij"}'
_LANES = CONNECTIONS  # every lane has a connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The start and end of one process's run (system-wide monotonic clock), and the CPU seconds it used."""

    started: float
    ended: float
    cpu_seconds: float


def call_alone(receiver: CallbackReceiver, *, count: int, processes: int) -> dict[str, Any]:
    """Sends ``count`` callbacks. Returns the rates per second and per CPU second of the senders.

    Raises AssertionError if a callback fails, is lost or arrives twice.
    """
    shares = [(receiver.url, range(number, count, processes)) for number in range(processes)]
    spent: list[Spent] = answers_of(_main, shares, within=600)
    received = receiver.take_each_once({str(UUID(int=number)).encode() for number in range(count)})
    seconds = max(one.ended for one in spent) - min(one.started for one in spent)
    return {
        "rate": round(count / seconds),
        "per_cpu_second": round(count / sum(one.cpu_seconds for one in spent)),
        "receiver_busy": round(received.cpu_seconds / seconds, 2),
    }


def _main(url: str, numbers: range, ready: Any, answers: Any) -> None:
    answers.put(uvloop.run(_channel(url, numbers, ready)))


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
                raise AssertionError(f"a callback ended as {outcome}")

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
