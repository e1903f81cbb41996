"""A timer on the monotonic clock, accurate to a few hundredths of a millisecond.

An event loop's own timers have a resolution of a millisecond. With them, rows would start up to two milliseconds late,
or the loop would spin for the last millisecond. On Linux, this timer is a timerfd (timerfd_create(2)). Elsewhere, it
uses the loop's timer.
"""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable

_CLOCK_MONOTONIC = 1
_CLOSE_ON_EXEC_NON_BLOCKING = os.O_CLOEXEC | os.O_NONBLOCK
_ABSOLUTE = 1
_AGAIN = 0.001


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class PreciseTimer:
    """Calls ``ring`` in the running loop at the time that was set last."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._file = -1
        if sys.platform == "linux":
            self._kernel = ctypes.CDLL(None, use_errno=True)
            self._file = self._kernel.timerfd_create(_CLOCK_MONOTONIC, _CLOSE_ON_EXEC_NON_BLOCKING)
        if self._file >= 0:
            self._spec = _Itimerspec()
            self._loop.add_reader(self._file, self._read)

    def set(self, moment: float) -> None:
        """Makes the timer ring at ``moment`` (seconds of ``time.monotonic``), or at once if that moment has passed."""
        if self._file < 0:
            self.cancel()
            self._timer = self._loop.call_later(moment - time.monotonic(), self._ring_at, moment)
            return
        nanoseconds = max(int(moment * 1e9), 1)  # 0 would switch the timer off
        self._spec.value.seconds, self._spec.value.nanoseconds = divmod(nanoseconds, 1_000_000_000)
        self._settime()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._file >= 0:
            self._spec.value.seconds = self._spec.value.nanoseconds = 0
            self._settime()

    def close(self) -> None:
        self.cancel()
        if self._file >= 0:
            self._loop.remove_reader(self._file)
            os.close(self._file)
            self._file = -1

    def _ring_at(self, moment: float) -> None:
        if time.monotonic() < moment:  # the loop may be a fraction of a millisecond early
            self._timer = self._loop.call_later(_AGAIN, self._ring_at, moment)
        else:
            self._ring()

    def _settime(self) -> None:
        if self._kernel.timerfd_settime(self._file, _ABSOLUTE, ctypes.byref(self._spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

    def _read(self) -> None:
        try:
            os.read(self._file, 8)
        except BlockingIOError:
            return  # the timer was set again after it woke the loop
        self._ring()
