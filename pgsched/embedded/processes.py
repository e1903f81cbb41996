"""Checks and ends server processes, and finds free ports."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pgsched.errors import EmbeddedPostgresError

POLL = 0.02
_PROCESSES = Path("/proc")
_SHUTDOWN = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 15.0), (signal.SIGKILL, 15.0))


def command_line(pid: int) -> str:
    """Returns the command line of a process; empty if the process does not exist or is a zombie."""
    if pid <= 0:
        return ""
    if _PROCESSES.is_dir():
        with contextlib.suppress(OSError):
            return (_PROCESSES / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    asked = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout


def shut_down(pid: int, gone: Callable[[], bool]) -> None:
    """Stops a server and waits until it has ended. Tries a fast shutdown, which loses no data, before using force."""
    for number, patience in _SHUTDOWN:
        if gone():
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        if within(patience, gone):
            return
    raise EmbeddedPostgresError(
        f"the PostgreSQL server (process {pid}) did not stop, even after SIGKILL: check "
        "whether the process hangs in disk access"
    )


def end_orphans(name: str) -> None:
    """Kills the backends left by the dead server with this name, which could hold its memory and locks for a long time.
    No data is lost: all committed data is in the write-ahead log, and open transactions ended with the server."""
    if not _PROCESSES.is_dir():
        return
    for entry in _PROCESSES.iterdir():
        if entry.name.isdigit() and command_line(int(entry.name)).startswith(f"postgres: {name}: "):
            with contextlib.suppress(OSError):
                os.kill(int(entry.name), signal.SIGKILL)


def within(seconds: float, happened: Callable[[], bool]) -> bool:
    """Waits for ``happened`` to return true. Returns False if that takes more than ``seconds``."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True


def is_free(port: int) -> bool:
    """Whether a server can listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        # PostgreSQL sets this option too: with it, connections that are closing do not occupy the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """Returns a port of 127.0.0.1 that was free at the time of the call."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
