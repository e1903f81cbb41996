"""Runs the event loop of worker processes, and of the child processes that isolate handlers."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pgsched.telemetry import Events


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns uvloop's factory, or None if uvloop is not installed. uvloop runs only on CPython, and not on Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def run_to_its_end(work: Coroutine[Any, Any, None], events: Events) -> None:
    """Like ``asyncio.run``, but if the loop is stopped before ``work`` is done, resumes it. Any handler can stop the
    loop, and outcomes would be lost if the process ended."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        while not task.done():
            try:
                loop.run_until_complete(task)
            except RuntimeError:
                if task.done() or loop.is_closed():
                    raise
                events.emit("loop.stopped")
