"""Starts and runs the child process that calls handlers in isolation (see ``delivery.isolated_handlers``).

The child is ``pgsched worker --isolated``, with its worker's settings and application. It holds no leases, and settles
only executions that handlers complete in their own transactions.
"""

import asyncio
import ctypes
import dataclasses
import os
import pickle
import signal
import sys
import threading
from typing import BinaryIO

from pgsched.cli.load_app import load_app
from pgsched.cli.supervised import program
from pgsched.delivery.failure_log import FailureLog
from pgsched.delivery.handler_transaction import TransactionalCompletion
from pgsched.delivery.isolated_handlers import Call, StartChild, framed
from pgsched.delivery.python import PythonChannel
from pgsched.delivery.threads import Threads
from pgsched.domain.attempt_outcome import Failed, Outcome
from pgsched.settings import Settings
from pgsched.store.core.connect import Link
from pgsched.telemetry import Events
from pgsched.worker.run.event_loop_runner import run_to_its_end
from pgsched.worker.run.forced_exit import end_forked_children
from pgsched.worker.run.handler_reports import Reports

_PR_SET_PDEATHSIG = 1


def child_starter(settings: Settings) -> StartChild:
    """Returns a function that starts a child with these settings."""
    own = dataclasses.replace(settings, processes=1, metrics="", secret_keys="")
    started = program("isolated", ["worker", "--isolated"], own)

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *started.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=dict(started.environment),
            start_new_session=True,  # a terminal's Ctrl-C reaches only the worker, which decides when to stop the child
        )

    return start


def serve_isolated(settings: Settings, events: Events) -> None:
    """Runs the handler calls sent by the worker, one at a time, until the worker closes the pipe or dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # works even while a handler holds the GIL
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # handlers must not use the pipes
    os.dup2(2, 1)
    url = settings.database_url or ""
    channel = PythonChannel(
        load_app(settings.app or ""),
        completion=TransactionalCompletion(url, connections=1),
        threads=Threads(1),
        failures=FailureLog(events),
        tracebacks=settings.kept_traceback,
        reports=Reports(Link(url, "reports", raw=False)),
    )
    end_forked_children()
    run_to_its_end(_serve(channel, calls, answers), events)


async def _serve(channel: PythonChannel, calls: BinaryIO, answers: BinaryIO) -> None:
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[Call]()

    def read() -> None:
        try:
            while True:
                loop.call_soon_threadsafe(waiting.put_nowait, pickle.load(calls))
        finally:
            os._exit(0)

    threading.Thread(target=read, name="pgsched-calls", daemon=True).start()
    answer: Outcome | None = None
    while True:
        answers.write(framed(answer))
        answers.flush()
        answer = await _outcome(channel, *await waiting.get())


async def _outcome(channel: PythonChannel, *call: object) -> Outcome:
    try:
        return await asyncio.create_task(channel.deliver(*call))  # type: ignore[arg-type]
    except asyncio.CancelledError:
        return Failed(error="the handler cancelled itself", retryable=True)
