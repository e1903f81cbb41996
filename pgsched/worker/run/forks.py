"""Ends a child process that a handler has forked, before it goes on with the worker's own work.

After ``os.fork()`` two processes go on with the same sessions, connections and epoll: answers for one are read by the
other, and rows run twice. A child may do as it likes within the handler, such as start another program; but when it
returns from there, raises, or awaits, it ends at once. Children that ``multiprocessing`` has forked end by themselves,
and are left alone. This costs the worker nothing, because it happens in the child.
"""

import asyncio
import concurrent.futures.thread
import multiprocessing
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pgsched

_STATUS = os.EX_SOFTWARE if hasattr(os, "EX_SOFTWARE") else 70
_OURS = str(Path(pgsched.__file__).parent) + os.sep
_LOOPS = (asyncio.events.__file__, asyncio.runners.__file__, concurrent.futures.thread.__file__)
_MULTIPROCESSING = str(Path(multiprocessing.__file__).parent) + os.sep


def guard() -> None:
    """Keeps children of this process from doing its work. To be called once, by a process that is only a worker."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    frame = _innermost(sys._getframe(1))
    if frame is not None:
        sys.setprofile(_Leave(frame))


def _innermost(frame: FrameType | None) -> FrameType | None:
    """The nearest frame of a handler that the worker's own code called; None where the child ends by itself."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_MULTIPROCESSING):
            return None
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith((_OURS, *_LOOPS)):
            return frame
        frame = caller
    return None


class _Leave:
    """Ends the process when this frame is left in any way."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if frame is self._frame and event == "return":
            os._exit(_STATUS)
