"""Writes the log so that a slow reader does not block the event loop or a handler's thread."""

import logging
import os
import select
import threading
import time
from collections import deque
from contextlib import suppress

_MOST_BEHIND = 4 * 1024 * 1024


class LogWriter(logging.Handler):
    """Writes lines to a file descriptor, or queues them for a thread if the descriptor would block. The queue holds up
    to 4 MiB. Further lines are dropped, and a later line reports how many."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._taking = select.poll()
        self._taking.register(descriptor, select.POLLOUT)
        self._behind = deque[bytes]()
        self._size = self._left_out = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._line(record)
        except Exception:
            self.handleError(record)
            return
        with self._changed:
            if not self._behind and not self._left_out:
                line = self._write(line)
            if line:
                self._keep(line)

    def flush(self) -> None:
        """Waits until all lines are written, but at most a second, because the reader may be stuck."""
        until = time.monotonic() + 1
        with self._changed:
            while self._behind and (left := until - time.monotonic()) > 0:
                self._changed.wait(left)

    def _line(self, record: logging.LogRecord) -> bytes:
        return self.format(record).encode("utf-8", "backslashreplace") + b"\n"

    def _write(self, line: bytes) -> bytes:
        """Writes as much as the descriptor accepts without blocking, and returns the rest of the line. If the
        descriptor is broken, drops the line."""
        with suppress(BlockingIOError):
            while line and self._taking.poll(0):
                try:
                    line = line[os.write(self._descriptor, line[: select.PIPE_BUF]) :]
                except BlockingIOError:
                    raise
                except OSError:
                    return b""
        return line

    def _keep(self, line: bytes) -> None:
        if self._size + len(line) > _MOST_BEHIND:
            self._left_out += 1
            return
        self._behind.append(line)
        self._size += len(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._catch_up, name="pgsched-log", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _catch_up(self) -> None:
        while True:
            with self._changed:
                while not self._behind:
                    self._changed.wait()
                line = self._behind[0]
            while line:
                self._taking.poll()
                line = self._write(line)
            with self._changed:
                self._size -= len(self._behind.popleft())
                if not self._behind and self._left_out:
                    count, self._left_out = self._left_out, 0
                    self._keep(self._line(_left_out(count)))
                self._changed.notify_all()


def _left_out(count: int) -> logging.LogRecord:
    text = "%d lines were dropped here because the log was not being read"
    return logging.LogRecord("pgsched", logging.WARNING, __file__, 0, text, (count,), None)
