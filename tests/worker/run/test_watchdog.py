"""A handler that blocks the event loop is logged with its stack, once each time."""

import subprocess
import sys
import time

from pgsched.delivery.app import App
from pgsched.worker.run.forced_exit import ExitStatus
from tests.worker.conftest import Connection, Recorder, Running, until_history


async def test_a_handler_that_blocks_the_loop_is_logged_with_its_stack(
    db: Connection, running: Running, recorder: Recorder
) -> None:
    app = App()

    @app.handler("compute")
    async def compute_for_long() -> None:
        time.sleep(1.6)  # noqa: ASYNC251  the block under test

    async with running(app):
        await db.execute("select pgsched.schedule('python:compute', client => 'shop')")
        await until_history(db, 1)
        over = await recorder.wait_for("loop.resumed")
    [blocked] = [said for said in recorder.named("loop.blocked") if said.get("target")]
    assert blocked["target"] == over["target"] == "python:compute"
    assert blocked["client"] == "shop"
    assert "compute_for_long" in str(blocked["stack"])
    assert float(over["seconds"] or 0) > float(blocked["seconds"] or 0) >= 1.0


async def test_brief_blocks_of_the_loop_are_not_logged(db: Connection, running: Running, recorder: Recorder) -> None:
    app = App()

    @app.handler("brief")
    async def brief() -> None:
        time.sleep(0.01)  # noqa: ASYNC251

    async with running(app):
        await db.execute("select pgsched.schedule('python:brief') from generate_series(1, 20)")
        await until_history(db, 20)
    assert not [said for said in recorder.named("loop.blocked") if said.get("target")]


def test_a_worker_with_a_replaced_monotonic_clock_exits() -> None:
    """With such a clock, nothing would ever be due or overdue."""
    ended = subprocess.run([sys.executable, "-c", _REPLACED], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == ExitStatus.BROKEN
    assert "time.monotonic" in ended.stdout + ended.stderr


_REPLACED = """
import asyncio, time
from pgsched.telemetry import Events
from pgsched.worker.run.forced_exit import ProcessExit
from pgsched.worker.run.watchdog import Watchdog

async def main():
    events = Events(lambda event, fields: print(event, fields, flush=True))
    Watchdog(events, process_exit=ProcessExit(events, after=60), after=0.04).start()
    time.monotonic = lambda: 0.0
    time.sleep(30)

asyncio.run(main())
"""
