"""A worker in its own thread: a handler can block its event loop without blocking the test's."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pgsched.delivery.app import App
from pgsched.delivery.handler_call import Context
from pgsched.scheduler import Worker
from pgsched.settings import Settings
from pgsched.telemetry import Events

Calls = list[str]
_PATIENCE = 60.0


class Blockable:
    """Handlers ``note``, ``slow`` (runs until freed) and ``block`` (blocks the event loop until freed), and the
    executions that each was called for."""

    def __init__(self, *, blocks: bool) -> None:
        self.app = App()
        self.noted, self.slow, self.blocked = Calls(), Calls(), Calls()
        self.stands, self.go, self.end = threading.Event(), threading.Event(), threading.Event()

        @self.app.handler("note")
        async def note(context: Context) -> None:
            self.noted.append(context.execution_id)

        @self.app.handler("slow")
        async def slow(context: Context) -> None:
            self.slow.append(context.execution_id)
            while not self.end.is_set():  # noqa: ASYNC110  set by another thread
                await asyncio.sleep(0.02)

        @self.app.handler("block")
        async def block(context: Context) -> None:
            self.blocked.append(context.execution_id)
            if blocks:
                self.stands.set()
                self.go.wait(_PATIENCE)

    def free(self) -> None:
        """Let all waiting handlers finish."""
        self.go.set()
        self.end.set()


@asynccontextmanager
async def in_a_thread(settings: Settings, made: Blockable, events: Events) -> AsyncIterator[Worker]:
    """A worker with its own thread and event loop, drained at the end."""
    found: list[Worker] = []
    up, stop = threading.Event(), threading.Event()

    async def run() -> None:
        worker = Worker(settings, app=made.app, events=events)
        await worker.start()
        found.append(worker)
        up.set()
        while not stop.is_set():  # noqa: ASYNC110  set by another thread
            await asyncio.sleep(0.02)
        await worker.drain()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    await until_set(up)
    try:
        yield found[0]
    finally:
        made.free()
        stop.set()
        await asyncio.to_thread(thread.join, _PATIENCE)


async def until_set(event: threading.Event) -> None:
    """Wait for an event of another thread without blocking the test's loop."""
    assert await asyncio.to_thread(event.wait, 30)


async def until_true(condition: Callable[[], bool]) -> None:
    """Wait until another thread has made the condition true."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  set by another thread
            await asyncio.sleep(0.02)
