"""The event loop of a worker process, and of the processes in which handlers are isolated."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pgsched.telemetry import Events


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed; it does not exist for Windows, nor for other Python implementations."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def run_to_its_end(work: Coroutine[Any, Any, None], events: Events) -> None:
    """``asyncio.run``, but for a loop that somebody stops before the work is done: that goes on. Any handler can stop
    it, and to end there would leave what has just run without its end on record."""
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
