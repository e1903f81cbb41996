"""Ends a worker process that can no longer work, and children that a handler has forked from it.

Handlers run in the worker's process. A handler can block the event loop or the interpreter forever, or cancel the
worker's own tasks. In that case, the process cannot be trusted to recover, so it ends at once, and its supervisor
starts a new process. Within two seconds, other workers have taken over its rows. The attempts that were running count
as lost, so the handler at fault will soon be called in isolation (``delivery.isolated_handlers``).

If the loop is blocked, the watchdog's thread ends the process (``blocked_loop_stand_in``). If a part of the worker has
ended without being stopped, the main task ends the process. The watchdog's thread keeps resetting a timer outside the
interpreter, which ends the process if not even this thread can run.

After ``os.fork()``, two processes share the same sessions, connections and epoll. Each would read data meant for the
other, and rows would run twice. A child may do anything within the handler, such as start another program, but is ended
at once when the handler returns, raises or awaits. Children that ``multiprocessing`` forks end by themselves, so they
are left alone. All this happens in the child, so it costs the worker nothing.
"""

import asyncio
import concurrent.futures.thread
import faulthandler
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any

import pgsched
from pgsched.domain.execution import ClaimedExecution
from pgsched.telemetry import Events

_TOLD = 10
_UNTIL_TOLD = 5.0
_STANDARD_ERROR = 2
_WINDS = 20
_CHILD_STATUS = os.EX_SOFTWARE if hasattr(os, "EX_SOFTWARE") else 70
_OURS = str(Path(pgsched.__file__).parent) + os.sep
_LOOPS = (asyncio.events.__file__, asyncio.runners.__file__, concurrent.futures.thread.__file__)
_MULTIPROCESSING = str(Path(multiprocessing.__file__).parent) + os.sep


class ExitStatus(IntEnum):
    """The exit status of a process that ended itself."""

    BLOCKED = 70
    BROKEN = 71

    @property
    def words(self) -> str:
        """The reason, for the log."""
        return _WORDS[self]


_WORDS = {
    ExitStatus.BLOCKED: "the event loop was blocked for too long",
    ExitStatus.BROKEN: "a part of the worker itself stopped working",
}


class ProcessExit:
    """Ends the process, either at once or by a timer that runs out ``after`` seconds after the last ``wind``."""

    def __init__(self, events: Events, *, after: float) -> None:
        self._events, self.after = events, after
        self._wound_at = float("-inf")

    def now(self, status: ExitStatus, why: str, running: Iterable[ClaimedExecution]) -> None:
        """Logs the running rows and ends the process, even if the log cannot be written. Thread-safe."""
        faulthandler.dump_traceback_later(_UNTIL_TOLD, exit=True, file=_STANDARD_ERROR)
        rows = list(running)
        self._events.emit("worker.gave_up", why=why, in_hand=len(rows), running=named(rows))
        os._exit(status)

    def wind(self) -> None:
        """Resets the timer. All calls after the first must be made in the same thread."""
        now = time.monotonic()
        if now - self._wound_at >= self.after / _WINDS:
            self._wound_at = now
            faulthandler.dump_traceback_later(self.after, exit=True, file=_STANDARD_ERROR)

    def unwind(self) -> None:
        """Stops the timer, because the process is about to end by itself."""
        faulthandler.cancel_dump_traceback_later()


def named(rows: Sequence[ClaimedExecution]) -> str:
    """Returns the first few of these rows as text, for the log."""
    return ", ".join(f"{row.target} {row.uuid} of {row.client_id}" for row in rows[:_TOLD])


def end_forked_children() -> None:
    """Keeps forked children from doing this process's work. Must be called once, in a process that is only a worker."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    frame = _innermost(sys._getframe(1))
    if frame is not None:
        sys.setprofile(_Leave(frame))


def _innermost(frame: FrameType | None) -> FrameType | None:
    """Returns the nearest frame of a handler that the worker's code called, or None if the child ends by itself."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_MULTIPROCESSING):
            return None
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith((_OURS, *_LOOPS)):
            return frame
        frame = caller
    return None


class _Leave:
    """A profile function that ends the process when this frame is left in any way."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if frame is self._frame and event == "return":
            os._exit(_CHILD_STATUS)
