"""Ends a child that a handler has forked, before it goes on with what is the worker's.

After ``os.fork()`` two processes go on with the same sessions, connections and epoll: answers for one are read by the
other, and rows run twice. A child may do as it likes within the handler, such as start another program; but when it
returns from there, raises, or awaits, it ends on the spot. Children that ``multiprocessing`` has forked end by
themselves, and are let alone. Nothing of this costs the worker anything: it happens in the child alone.
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
    """From now on no child of this process goes on with it. To be called once, by what is a worker and nothing else."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_child)


def _in_child() -> None:
    frame = _innermost(sys._getframe(1))
    if frame is not None:
        sys.setprofile(_Leave(frame))


def _innermost(frame: FrameType | None) -> FrameType | None:
    """The handler's own frame that was called by what is the worker's, and is nearest; None where it ends by itself."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(_MULTIPROCESSING):
            return None
        caller = frame.f_back
        if caller is not None and caller.f_code.co_filename.startswith((_OURS, *_LOOPS)):
            return frame
        frame = caller
    return None


class _Leave:
    """Ends the process when this frame is left, in whatever way."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if frame is self._frame and event == "return":
            os._exit(_STATUS)
