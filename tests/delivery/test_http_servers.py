"""Callbacks to third-party servers that close connections at will: each is received exactly once."""

import asyncio
import random

import pytest

from pgsched.delivery.http import HttpChannel
from pgsched.domain.attempt_outcome import Succeeded
from pgsched.domain.execution_options import Options
from tests.delivery.receiver import calling, execution
from tests.delivery.servers import RECEIVERS, Server, server

_IDLE = 0.05
_CALLERS, _CALLS = 10, 30


async def _call(channel: HttpChannel, target: Server, caller: int, pauses: list[float]) -> None:
    for number, pause in enumerate(pauses):
        row = execution(f"{target.url}/{caller}-{number}")
        assert await channel.deliver(row, Options(max_attempts=1 + number % 3), 20) == Succeeded(status_code=200)
        await asyncio.sleep(pause)


async def _all(target: Server, pauses: list[float]) -> list[str]:
    """Makes all the calls. Returns the paths that the server should have received."""
    async with calling() as channel, asyncio.TaskGroup() as callers:
        for caller in range(_CALLERS):
            callers.create_task(_call(channel, target, caller, pauses))
    return sorted(f"/{caller}-{number}" for caller in range(_CALLERS) for number in range(len(pauses)))


@pytest.mark.parametrize("kind", RECEIVERS)
async def test_no_call_is_lost_or_repeated_when_idle_connections_close(kind: str) -> None:
    around = random.Random(7)
    pauses = [max(0.0, around.uniform(_IDLE - 0.005, _IDLE + 0.003)) for _ in range(_CALLS)]
    with server(kind, idle=_IDLE) as target:
        expected = await _all(target, pauses)
        assert sorted(target.asked) == expected


@pytest.mark.parametrize("kind", ["nginx 1.22", "nginx 1.26"])
async def test_no_call_is_lost_or_repeated_when_a_proxy_reloads(kind: str) -> None:
    with server("node") as behind, server(kind, behind=behind.port) as target:
        calls = asyncio.create_task(_all(target, [0.01] * 3 * _CALLS))
        for _ in range(5):
            target.reload()
            await asyncio.sleep(0.1)
        expected = await calls
        assert sorted(behind.asked) == expected
