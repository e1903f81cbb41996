"""Handlers that may end their process run in child processes: only a child dies, and the culprit is identified."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pgsched.cli.isolated import child_starter
from pgsched.delivery.isolated_handlers import LOSSES, Isolation
from pgsched.delivery.slots import NoFreeSlot
from pgsched.domain.attempt_outcome import Failed, Outcome, Released, Succeeded
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.settings import Settings
from pgsched.telemetry import Events
from tests.delivery.receiver import execution

APP = """
import asyncio, os, sys, threading, time
import pgsched

app = pgsched.App()


@app.handler("pid")
def pid():
    print("a line that is not an answer")
    return os.getpid()


@app.handler("fails")
async def fails():
    raise ValueError("no")


@app.handler("dies")
async def dies():
    os._exit(3)


@app.handler("dies_later")
async def dies_later():
    threading.Timer(0.3, os._exit, [4]).start()


@app.handler("sleeps")
async def sleeps():
    await asyncio.sleep(3600)


@app.handler("stands")
async def stands():
    time.sleep(3600)


@app.handler("cancels")
async def cancels():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


@app.handler("large")
async def large(payload):
    return payload * 2
"""
_OPTIONS = Options()


def lost(name: str, losses: int = LOSSES, **given: Any) -> ClaimedExecution:
    return execution(target=f"python:{name}", **given)._replace(losses=losses)


@pytest.fixture
async def isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Isolation]:
    (tmp_path / "isolated_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    settings = Settings(database_url="postgresql://nowhere.invalid/", app="isolated_app:app")
    made = Isolation(child_starter(settings), Events())
    yield made
    await made.close()


async def call(isolation: Isolation, row: ClaimedExecution, options: Options = _OPTIONS) -> Outcome:
    """Waits for a slot outside the lanes, as the worker does."""
    while True:
        try:
            return await isolation.deliver(row, options, 30.0)
        except NoFreeSlot:
            await asyncio.sleep(0.05)


def result_of(outcome: Outcome) -> int:
    assert isinstance(outcome, Succeeded), outcome
    return int(outcome.result or b"0")


async def test_one_child_serves_consecutive_calls(isolation: Isolation) -> None:
    first, second = result_of(await call(isolation, lost("pid"))), result_of(await call(isolation, lost("pid")))
    assert first == second != os.getpid()
    failed = await call(isolation, lost("fails"))
    assert isinstance(failed, Failed)
    assert (failed.error, "in fails" in str(failed.traceback)) == ("ValueError: no", True)
    assert await call(isolation, lost("cancels")) == Failed(error="the handler cancelled itself", retryable=True)
    large = await call(isolation, lost("large", payload=b'"' + b"x" * 400_000 + b'"'))
    assert isinstance(large, Succeeded)
    assert len(large.result or b"") == 800_002
    assert result_of(await call(isolation, lost("pid"))) == first


async def test_a_call_that_ends_a_fresh_child_fails(isolation: Isolation) -> None:
    died = Failed(error="the handler's process ended (exit status 3)", retryable=True)
    assert await call(isolation, lost("dies")) == died
    assert result_of(await call(isolation, lost("pid")))


async def test_a_call_whose_reused_child_dies_is_released(isolation: Isolation) -> None:
    await call(isolation, lost("dies_later"))
    innocent = lost("sleeps")
    outcome = await call(isolation, innocent)
    assert outcome == Released(by_drain=True)
    used = result_of(await call(isolation, lost("pid")))
    assert result_of(await call(isolation, lost("pid", losses=LOSSES + 1))) != used


async def test_an_execution_with_a_single_attempt_runs_in_a_fresh_child(isolation: Isolation) -> None:
    used = result_of(await call(isolation, lost("pid")))
    assert result_of(await call(isolation, lost("pid"), replace(_OPTIONS, max_attempts=1))) != used


@pytest.mark.parametrize("name", ["sleeps", "stands"])
async def test_a_call_past_its_deadline_is_killed(isolation: Isolation, name: str) -> None:
    pid = result_of(await call(isolation, lost("pid")))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call(isolation, lost(name)), 0.5)
    await isolation.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert isolation.taken == 0


async def test_starting_a_child_does_not_use_up_the_attempts_timeout(isolation: Isolation) -> None:
    began = time.monotonic()
    with pytest.raises(NoFreeSlot):
        await isolation.deliver(lost("pid"), _OPTIONS, 30.0)
    assert time.monotonic() - began < 0.5
    assert isolation.taken == 0
    assert result_of(await call(isolation, lost("pid")))


async def test_an_execution_waits_while_no_child_can_be_started(tmp_path: Path) -> None:
    said: list[str] = []

    async def start() -> asyncio.subprocess.Process:
        raise OSError("no memory")

    isolation = Isolation(start, Events(lambda event, fields: said.append(event)))
    for _ in range(3):
        with pytest.raises(NoFreeSlot):
            await isolation.deliver(lost("pid"), _OPTIONS, 30.0)
        await asyncio.sleep(0)
    assert said == ["isolation.failed"]
    await isolation.close()
