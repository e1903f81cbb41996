"""The handlers of both clients. They record arrivals in a file outside the system."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from typing import Any

import pgsched
from pgsched.delivery.handler_call import Context

app = pgsched.App()

# The wall clock may be set during a test, so times are measured with the monotonic clock.
_epoch = float(os.environ.get("ADVERSARY_EPOCH", time.time() - time.monotonic()))
_ledger = os.open(os.environ.get("ADVERSARY_LEDGER", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _note(kind: str, context: Context) -> None:
    now = _epoch + time.monotonic()
    line = f"{kind} {context.execution_id} {context.scheduled_for.timestamp()!r} {now!r} {os.getpid()}\n"
    os.write(_ledger, line.encode())


@app.handler("note")
async def note(payload: Any, context: Context) -> None:
    """An execution of the first client."""
    _note("note", context)


@app.handler("note_in_a_thread")
def note_in_a_thread(payload: Any, context: Context) -> None:
    _note("note", context)


@app.handler("note_with_a_connection")
async def note_with_a_connection(payload: Any, context: Context, connection: Any) -> None:
    await connection.execute("select 1")
    _note("note", context)


@app.handler("tick")
async def tick(payload: Any, context: Context) -> None:
    """A run of the first client's job."""
    _note("tick", context)


@app.handler("mallory")
async def mallory(payload: Any) -> None:
    """A harmless execution of the second client."""


@app.handler("mallory_brief")
async def mallory_brief(payload: Any) -> None:
    """Runs long enough to be attacked, and ends during the attack."""
    await asyncio.sleep(1.2)


@app.handler("mallory_slow")
async def mallory_slow(payload: Any) -> None:
    """Runs longer than an attack."""
    await asyncio.sleep(8)


@app.handler("mallory_fails")
async def mallory_fails(payload: Any) -> None:
    raise ValueError("as always")


@app.handler("mallory_sleeps")
def mallory_sleeps(payload: Any) -> None:
    """Occupies a thread."""
    time.sleep(3)


@app.handler("mallory_keeps_a_thread")
def mallory_keeps_a_thread(payload: Any) -> None:
    """Runs long after its timeout."""
    time.sleep(15)


@app.handler("mallory_keeps_a_connection")
async def mallory_keeps_a_connection(payload: Any, connection: Any) -> None:
    await asyncio.sleep(60)


@app.handler("mallory_blocks")
async def mallory_blocks(payload: Any, context: Context) -> None:
    """Blocks the event loop. If that exceeds its timeout, its worker is lost."""
    if payload.get("is_lost"):
        _note("end", context)
    time.sleep(payload["seconds"])  # noqa: ASYNC251


@app.handler("mallory_answers")
async def mallory_answers(payload: Any) -> Any:
    """Returns a result that cannot be stored."""
    return {"large": "x" * 3_000_000, "nan": float("nan")} if payload else object()


class _Wordy(Exception):
    def __str__(self) -> str:
        return "x" * 300_000_000


@app.handler("mallory_raises_in_a_thread")
def mallory_raises_in_a_thread(payload: Any) -> None:
    """Raises an endless exception: a huge text, a long chain of causes, or a circular one."""
    if payload == "text":
        raise _Wordy
    first = last = ValueError("first")
    for number in range(1 if payload == "circle" else 20_000):
        later = ValueError(f"number {number}")
        later.__cause__, last = last, later
    if payload == "circle":
        first.__cause__ = last
    raise last


@app.handler("mallory_raises")
async def mallory_raises(payload: Any) -> None:
    mallory_raises_in_a_thread(payload)


@app.handler("mallory_forks")
async def mallory_forks(payload: Any) -> None:
    """Forks, and both processes continue."""
    if os.fork() == 0 and payload == "await":
        await asyncio.sleep(0.1)


@app.handler("mallory_forks_in_a_thread")
def mallory_forks_in_a_thread(payload: Any) -> None:
    os.fork()


@app.handler("mallory_leaves")
async def mallory_leaves(payload: Any) -> None:
    raise SystemExit(3)


@app.handler("mallory_cancels")
async def mallory_cancels(payload: Any) -> None:
    raise asyncio.CancelledError


@app.handler("mallory_exits")
async def mallory_exits(payload: Any, context: Context) -> None:
    """Ends its process."""
    _note("end", context)
    os._exit(3)


@app.handler("mallory_waits")
async def mallory_waits(payload: Any, context: Context) -> None:
    """Blocks forever, as on a lock that is never released. Its process is lost."""
    _note("end", context)
    threading.Event().wait()


@app.handler("mallory_cancels_all")
async def mallory_cancels_all(payload: Any, context: Context) -> None:
    """Cancels all tasks. Its process is lost."""
    _note("end", context)
    for task in asyncio.all_tasks():
        task.cancel()


@app.handler("mallory_signals")
async def mallory_signals(payload: Any) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(3600)


@app.handler("mallory_stops_the_loop")
async def mallory_stops_the_loop(payload: Any) -> None:
    asyncio.get_running_loop().stop()


@app.handler("mallory_cancels_itself")
async def mallory_cancels_itself(payload: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@app.handler("mallory_hangs_isolated")
async def mallory_hangs_isolated(payload: Any, context: Context) -> None:
    """Ends its process, but hangs in isolation."""
    if "--isolated" in sys.argv:
        await asyncio.sleep(600)
    _note("end", context)
    os._exit(3)


@app.handler("mallory_insists")
async def mallory_insists(payload: Any) -> None:
    """Ignores cancellation."""
    for _ in range(20):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1)
